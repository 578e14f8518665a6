"""Circulant operators in one to three dimensions, which the Fourier transform diagonalizes."""

from __future__ import annotations

from math import prod
from typing import Any

import numpy as np

from gradtape._src.core.base.public import public
from gradtape._src.core.tensors.tensor import extents_of
from gradtape._src.core.values import dtypes
from gradtape._src.core.values.shape import TensorShape
from gradtape._src.operators import rules
from gradtape._src.operators.base import LinearOperator
from gradtape._src.operators.composed import LinearOperatorComposition
from gradtape._src.operators.parts import in_batch, parameter, reference, shape_of, stated
from gradtape._src.operators.rules import rule
from gradtape._src.ops.array.cast import cast
from gradtape._src.ops.array.shape import broadcast_to, reshape
from gradtape._src.ops.debugging.checks import assert_near, assert_positive
from gradtape._src.ops.linalg.diagonals import matrix_transpose
from gradtape._src.ops.math.arithmetic import abs
from gradtape._src.ops.math.complex import conj, imag, real
from gradtape._src.ops.math.elementary import log
from gradtape._src.ops.math.reduction import reduce_max, reduce_min, reduce_prod, reduce_sum
from gradtape._src.ops.signal.fourier import fft, fft2d, fft3d, ifft, ifft2d, ifft3d

TRANSFORMS = {1: (fft, ifft), 2: (fft2d, ifft2d), 3: (fft3d, ifft3d)}


class _Circulant(LinearOperator):
    """Base of circulant operators: A = F⁻¹ diag(spectrum) F, with F the transform of `_depth` dimensions."""

    _composite_tensor_fields = ("spectrum", "input_output_dtype")
    spectrum = parameter("spectrum", "The eigenvalues, by frequency.")

    _depth: int

    def _prepare(self, parameters: dict[str, Any]) -> None:
        self._spectrum = reference(parameters["spectrum"], "spectrum")
        self._input_output_dtype = dtypes.as_dtype(parameters["input_output_dtype"])
        rank = shape_of(self._spectrum).rank
        if rank is not None and rank < self._depth:
            raise ValueError(f"Argument `spectrum` must have at least {self._depth} dimensions. Found: {self._spectrum}")
        always: dict[str, Any] = {"is_square": True}
        if not self._spectrum.dtype.is_complex:
            if parameters["is_self_adjoint"] is False:
                raise ValueError(f"A real spectrum always corresponds to a self-adjoint operator. Found: {self._spectrum}")
            always["is_self_adjoint"] = True
        if parameters["is_square"] is False:
            raise ValueError("A [[nested] block] circulant operator is always square.")
        self._begin(self._input_output_dtype, parameters, **always)

    @property
    def block_depth(self) -> int:
        """The number of dimensions."""
        return self._depth

    @property
    def block_shape(self) -> TensorShape:
        """The extents of the dimensions."""
        return stated(self._block())

    def _block(self) -> TensorShape:
        return shape_of(self._spectrum)[-self._depth :]

    @public
    def block_shape_tensor(self) -> Any:
        """Return the extents of the dimensions as an int32 tensor."""
        return reference(self._block().as_list(), "block_shape", dtypes.int32)

    @public
    def convolution_kernel(self, name: str = "convolution_kernel") -> Any:
        """Return the kernel of the convolution that the operator computes: the inverse transform of the spectrum."""
        return cast(TRANSFORMS[self._depth][1](self._complex()), self.dtype)

    @public
    def assert_hermitian_spectrum(self, name: str = "assert_hermitian_spectrum") -> Any:
        """Return an op that raises InvalidArgumentError unless the kernel of the convolution is real."""
        kernel = TRANSFORMS[self._depth][1](self._complex())
        least = float(np.finfo(self._complex().dtype.as_numpy_dtype).eps) * max(1, self._domain_size or 1)
        return assert_near(imag(kernel), 0.0, rtol=least, atol=least, message="Spectrum was not Hermitian")

    def _complex(self) -> Any:
        wide = self._spectrum.dtype in (dtypes.float64, dtypes.complex128)
        return cast(self._spectrum, dtypes.complex128 if wide else dtypes.complex64)

    def _flat(self) -> Any:
        spectrum = self._complex()
        return reshape(spectrum, self._shape().as_list()[:-1])

    def _shape(self) -> TensorShape:
        shape = shape_of(self._spectrum)
        extents = shape[-self._depth :].as_list()
        size = None if None in extents else prod(extents)
        return shape[: -self._depth].concatenate([size, size])

    def _convolved(self, x: Any, spectrum: Any) -> Any:
        """Apply the operator by Fourier transforms of the columns, each as an array of the block's shape."""
        forward, backward = TRANSFORMS[self._depth]
        x = matrix_transpose(in_batch(x, self._batch_extents))
        columns = reshape(cast(x, spectrum.dtype), [*extents_of(x)[:-1], *self._block().as_list()])
        found = backward(forward(columns) * spectrum[(..., None, *[slice(None)] * self._depth)])
        return cast(matrix_transpose(reshape(found, extents_of(x))), self.dtype)

    def _matmul(self, x: Any, adjoint: bool = False) -> Any:
        spectrum = self._complex()
        return self._convolved(x, conj(spectrum) if adjoint else spectrum)

    def _solve(self, rhs: Any, adjoint: bool = False) -> Any:
        spectrum = self._complex()
        return self._convolved(rhs, 1.0 / (conj(spectrum) if adjoint else spectrum))

    def _diag_part(self) -> Any:
        flat = self._flat()
        value = reduce_sum(flat, axis=-1, keepdims=True) / cast(extents_of(flat)[-1], flat.dtype)
        return cast(broadcast_to(value, extents_of(flat)), self.dtype)

    def _trace(self) -> Any:
        return cast(reduce_sum(self._flat(), axis=-1), self.dtype)

    def _determinant(self) -> Any:
        return cast(reduce_prod(self._flat(), axis=-1), self.dtype)

    def _log_abs_determinant(self) -> Any:
        return cast(reduce_sum(log(abs(self._flat())), axis=-1), self.dtype)

    def _eigvals(self) -> Any:
        return self._flat()

    def _cond(self) -> Any:
        sizes = abs(self._flat())
        return reduce_max(sizes, axis=-1) / reduce_min(sizes, axis=-1)

    def _assert_non_singular(self) -> Any:
        return assert_positive(abs(self._flat()), message="Singular operator:  Spectrum contained zero values.")

    def _assert_positive_definite(self) -> Any:
        return assert_positive(real(self._flat()), message="Not positive definite:  Real part of spectrum was not all positive.")

    def _assert_self_adjoint(self) -> Any:
        message = "Not self-adjoint:  The spectrum contained non-zero imaginary part."
        return assert_near(imag(self._flat()), 0.0, message=message)

    @property
    def _experimental_parameter_ndims_to_matrix_ndims(self) -> dict[str, Any]:
        return {"spectrum": self._depth}


class LinearOperatorCirculant(_Circulant):
    """A circulant matrix, that is a cyclic convolution: `spectrum` is the Fourier transform of its first column.

    >>> operator = tf.linalg.LinearOperatorCirculant([6.0, 0.0, 0.0], input_output_dtype=tf.float32)
    >>> operator.to_dense().numpy().round(3).tolist()
    [[2.0, 2.0, 2.0], [2.0, 2.0, 2.0], [2.0, 2.0, 2.0]]
    """

    _depth = 1

    @public
    def __init__(
        self,
        spectrum: Any,
        input_output_dtype: Any = dtypes.complex64,
        is_non_singular: bool | None = None,
        is_self_adjoint: bool | None = None,
        is_positive_definite: bool | None = None,
        is_square: bool | None = True,
        name: str = "LinearOperatorCirculant",
    ) -> None:
        self._prepare(dict(locals()))


class LinearOperatorCirculant2D(_Circulant):
    """A circulant matrix of circulant blocks, which convolves in two dimensions.

    >>> tf.linalg.LinearOperatorCirculant2D([[1.0, 1.0]], input_output_dtype=tf.float32).trace().numpy()
    2.0
    """

    _depth = 2

    @public
    def __init__(
        self,
        spectrum: Any,
        input_output_dtype: Any = dtypes.complex64,
        is_non_singular: bool | None = None,
        is_self_adjoint: bool | None = None,
        is_positive_definite: bool | None = None,
        is_square: bool | None = True,
        name: str = "LinearOperatorCirculant2D",
    ) -> None:
        self._prepare(dict(locals()))


class LinearOperatorCirculant3D(_Circulant):
    """A circulant matrix of blocks of circulant blocks, which convolves in three dimensions.

    >>> tf.linalg.LinearOperatorCirculant3D([[[1.0, 1.0]]], input_output_dtype=tf.float32).trace().numpy()
    2.0
    """

    _depth = 3

    @public
    def __init__(
        self,
        spectrum: Any,
        input_output_dtype: Any = dtypes.complex64,
        is_non_singular: bool | None = None,
        is_self_adjoint: bool | None = None,
        is_positive_definite: bool | None = None,
        is_square: bool | None = True,
        name: str = "LinearOperatorCirculant3D",
    ) -> None:
        self._prepare(dict(locals()))


@rule("adjoint", _Circulant)
def _(operator: Any) -> LinearOperator:
    return type(operator)(conj(operator.spectrum), operator.dtype, **rules.hints_of(operator))


@rule("inverse", _Circulant)
def _(operator: Any) -> LinearOperator:
    return type(operator)(1.0 / operator.spectrum, operator.dtype, **rules.hints_of(operator))


@rule("product", _Circulant, _Circulant)
def _(left: Any, right: Any) -> LinearOperator:
    if type(left) is not type(right) or left._block() != right._block():
        return LinearOperatorComposition([left, right])
    return type(left)(
        left.spectrum * right.spectrum,
        left.dtype,
        is_non_singular=rules.invertible(left, right),
        is_self_adjoint=rules.both("is_self_adjoint", left, right),
    )
