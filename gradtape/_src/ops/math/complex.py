"""Complex numbers and their parts; and the declaration of element-wise ops, whose gradient conjugates their derivative."""

import inspect
import math
from collections.abc import Callable
from typing import Any

from gradtape._src.core.base.public import public
from gradtape._src.core.declarations.define import OpFunction, gradient, op
from gradtape._src.core.platform.arrays import jnp, lax
from gradtape._src.core.programs.op import Kernel, Rule
from gradtape._src.core.tensors.convert import tensor
from gradtape._src.core.tensors.tensor import EagerTensor, Tensor
from gradtape._src.core.values import dtypes
from gradtape._src.core.values.aval import aval
from gradtape._src.ops.array.cast import cast
from gradtape._src.ops.array.shape import zeros_as
from gradtape._src.ops.shapes import broadcast, same

COMPLEX_OF = {"float32": dtypes.complex64.numpy, "float64": dtypes.complex128.numpy}


def _part(x):
    """Infer the aval of the real or imaginary part of a complex `x`."""
    return aval(x.shape, x.type.real_dtype.numpy)


def _pair(x, y):
    return aval(broadcast(x, y).shape, COMPLEX_OF[x.type.name])


@op("Complex", infer=_pair, broadcasting=True, flops=0)
def _complex(real, imag):
    return lax.complex(*jnp.broadcast_arrays(real, imag))


@gradient(_complex)
def _(dy):
    return real(dy), imag(dy)


@public
def complex(real, imag, name=None) -> Tensor:
    """Return the complex numbers of real parts `real` and imaginary parts `imag`, with broadcasting.

    Both are float32 (result complex64) or float64 (result complex128); TypeError for other dtypes.

    >>> tf.complex([1.0, 2.0], [0.5, -1.0]).numpy()
    array([1.+0.5j, 2.-1.j ], dtype=complex64)
    """
    real, imag = tensor(real), tensor(imag)
    if real.dtype != imag.dtype or real.dtype.name not in COMPLEX_OF:
        raise TypeError(
            f"The `real` and `imag` components have incorrect types: {real.dtype.name} {imag.dtype.name}. They must be "
            "consistent, and one of [tf.float32, tf.float64]. Use tf.cast."
        )
    return _complex(real, imag)


@op("Real", infer=_part, flops=0)
def _real(input):
    return jnp.real(input)


@gradient(_real)
def _(dy):
    return _complex(dy, zeros_as(dy))


@public
def real(input, name=None) -> Tensor:
    """Return the real part of `input`, element-wise. Real tensors are returned unchanged. TypeError for bool and string.

    >>> tf.math.real([1.0 + 2.0j]).numpy()
    array([1.])
    """
    x = tensor(input)
    if x.dtype.is_complex:
        return _real(x)
    if not x.dtype.is_numeric:
        raise TypeError(f"input must be a numeric tensor, but got tensor with dtype {x.dtype!r}. Use tf.cast.")
    return x


@op("Imag", infer=_part, flops=0)
def _imag(input):
    return jnp.imag(input)


@gradient(_imag)
def _(dy):
    return _complex(zeros_as(dy), dy)


@public
def imag(input, name=None) -> Tensor:
    """Return the imaginary part of `input`, element-wise; zeros for real tensors.

    >>> tf.math.imag([1.0 + 2.0j]).numpy()
    array([2.])
    """
    x = tensor(input)
    return _imag(x) if x.dtype.is_complex else zeros_as(x)


@op("Conj", infer=same, flops=0)
def _conj(input):
    return jnp.conj(input)


@gradient(_conj)
def _(dy):
    return _conj(dy)


@public
def conj(x, name=None) -> Tensor:
    """Return the complex conjugate of `x`; real tensors are returned unchanged. TypeError for bool and string.

    >>> tf.math.conj([1.0 + 2.0j]).numpy()
    array([1.-2.j])
    """
    if type(x) is EagerTensor and x.node.aval.dtype.kind in "fiu":
        return x
    return _conjugate(x)


@public
def _conjugate(x):
    x = tensor(x)
    if x.dtype.is_complex:
        return _conj(x)
    if not x.dtype.is_numeric:
        raise TypeError(f"Expected numeric or variant tensor, got dtype {x.dtype!r}. Use tf.cast.")
    return x


@op(
    "Angle", infer=_part, saves="input",
    at_edge="keep the number away from 0, where no angle is defined: `tf.math.angle(tf.where(x == 0, tf.ones_like(x), x))`",
)  # fmt: skip
def _angle(input):
    return jnp.angle(input)


@gradient(_angle)
def _(dy, input):  # with x = r·exp(iφ): dx = dy · i/conj(x)
    return _complex(zeros_as(dy), dy) / conj(input)


@public
def angle(input, name=None) -> Tensor:
    """Return the argument of complex `input` in (-π, π], element-wise; 0 or π for real tensors.

    >>> tf.math.angle([1.0j, -1.0 + 0.0j]).numpy().round(4)
    array([1.5708, 3.1416])
    """
    x = tensor(input)
    if x.dtype.is_complex:
        return _angle(x)
    return cast(x < 0, x.dtype) * math.pi


# ---------------------------------------------------------------------------------------------------------------------
# Element-wise ops


def elementwise(type: str, slope: Rule | tuple[Rule | None, ...], **declared: Any) -> Callable[[Kernel], OpFunction]:
    """Declare an op like `op`, with the gradient `dy · conj(slope)`, where `slope` is the derivative of the kernel.

    An op of several inputs has a tuple with a slope for each of them, or None. A slope is a function of the values that it names:
    inputs and attributes as in the kernel, and the result as `y`. These inputs and the result are what the op `saves`.
    """
    slopes = slope if isinstance(slope, tuple) else (slope,)
    read = [[] if each is None else list(inspect.signature(each).parameters) for each in slopes]

    def decorate(kernel: Kernel) -> OpFunction:
        parameters = inspect.signature(kernel).parameters.values()
        inputs = [p.name for p in parameters if p.kind is not p.KEYWORD_ONLY]
        saves = [name for name in (*inputs, "y") if any(name in names for names in read)]
        function = op(type, saves=" ".join(dict.fromkeys(saves)), **declared)(kernel)

        def value(operation: Any, name: str) -> Any:
            if name in inputs:
                return operation.inputs[inputs.index(name)]
            return operation.outputs[0] if name == "y" else operation.get_attr(name)

        def part(operation: Any, dy: Any, slope: Rule, names: list[str]) -> Any:
            return dy * conj(slope(*[value(operation, name) for name in names]))

        @gradient(function)
        def _(op: Any, dy: Any) -> Any:
            if not isinstance(slope, tuple):
                return part(op, dy, slope, *read)
            return [
                part(op, dy, each, names) if each is not None and needed else None
                for each, names, needed in zip(slope, read, op.needed, strict=True)
            ]

        return function

    return decorate
