"""Trace and eigenvalues of a symmetric matrix from products with vectors: Hutch++ and Lanczos quadrature."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from gradtape._src.autodiff.vectorized import called_on_rows
from gradtape._src.control.loop import while_loop
from gradtape._src.core.base.public import public
from gradtape._src.core.tensors.convert import tensor
from gradtape._src.core.tensors.tensor import Tensor
from gradtape._src.derivatives.estimates import signs_of
from gradtape._src.derivatives.evaluation import check_count
from gradtape._src.derivatives.linear_solve import Unknowns
from gradtape._src.ops.array.creation import eye, one_hot
from gradtape._src.ops.array.select import where
from gradtape._src.ops.array.shape import reshape, transpose, zeros
from gradtape._src.ops.linalg.decompositions import eigh, qr
from gradtape._src.ops.linalg.diagonals import diag, diag_part
from gradtape._src.ops.linalg.matmul import matmul
from gradtape._src.ops.math.arithmetic import sqrt
from gradtape._src.ops.math.elementary import exp
from gradtape._src.ops.math.reduction import reduce_max, reduce_sum


class _Products:
    """The products of a symmetric matrix with rows, all by one vectorised call."""

    def __init__(self, matvec: Callable[..., Any], like: Any, what: str, seed: int | None) -> None:
        unknowns = Unknowns(like, what)
        self.size, self.dtype = unknowns.vector.node.aval.size, unknowns.vector.dtype
        self._program, self._used = unknowns.traced(matvec)
        self._seed = seed

    def of(self, rows: Tensor) -> Tensor:
        """Return the product with each row."""
        return called_on_rows(self._program, rows, self._used)

    def signs(self, count: int, number: int = 0) -> Tensor:
        """Draw rows of random signs."""
        return signs_of((count, self.size), self.dtype, self._seed, number)


@public
def operator_trace(matvec: Callable[..., Any], like: Any, samples: int = 32, seed: int | None = None) -> Tensor:
    """Estimate the trace of a symmetric matrix A from `samples` products `matvec(v)` = A v: Hutch++.

    A third of the products finds the directions in which A is large, where the trace is exact; random signs estimate the rest.
    The error falls as 1 / `samples` where Hutchinson's falls as 1 / √`samples`. It is 0 for ranks below `samples` / 3, and for as
    few unknowns. Meyer, Musco, Musco and Woodruff, "Hutch++: Optimal stochastic trace estimation" (2021), algorithm 1.

    `like` is a nest of tensors as `matvec` takes, all float32 or all float64. `seed`: an int for the same signs each time.
    ValueError if `samples` is below 3, or `matvec` gives another shape or dtype.

    >>> a = tf.constant([[2.0, 1.0], [1.0, 3.0]])
    >>> round(float(tf.autodiff.operator_trace(lambda v: tf.linalg.matvec(a, v), tf.zeros([2]), samples=6)), 3)
    5.0
    """
    check_count("samples", samples, least=3)
    matrix = _Products(matvec, like, "operator_trace", seed)
    count = samples // 3
    every = count >= matrix.size  # the exact trace takes no more products
    basis = eye(matrix.size, dtype=matrix.dtype) if every else _orthonormal(matrix.of(matrix.signs(count)))
    exact: Tensor = reduce_sum(basis * matrix.of(basis))
    if every:
        return exact
    rest = matrix.signs(samples - 2 * count, 1)
    rest -= matmul(matmul(rest, basis, transpose_b=True), basis)
    found: Tensor = exact + reduce_sum(rest * matrix.of(rest)) / (samples - 2 * count)
    return found


def _orthonormal(rows: Tensor) -> Tensor:
    """Return orthonormal rows that span these; rows that depend on others become zeros."""
    q, r = qr(transpose(rows))
    sizes = abs(diag_part(r))
    eps = float(np.finfo(rows.dtype.as_numpy_dtype).eps)
    regular = sizes > reduce_max(sizes) * eps * max(rows.node.aval.shape)
    return transpose(where(regular, q, zeros((), rows.dtype)))


class Spectrum(NamedTuple):
    """The eigenvalues of a symmetric matrix as a measure: `values`, with `weights` whose sum is 1; `size` is its order.

    >>> a = tf.constant([1.0, 2.0, 5.0])
    >>> spectrum = tf.autodiff.spectral_density(lambda v: a * v, tf.zeros([3]))
    >>> round(float(spectrum.trace(tf.math.log)), 3)
    2.303
    """

    values: Tensor
    weights: Tensor
    size: int

    @public
    def trace(self, f: Callable[..., Any]) -> Tensor:
        """Return the estimate of the trace of f(A): the sum of f(λ) over all eigenvalues; with `tf.math.log` log det A."""
        # where a weight is 0 there is no eigenvalue, and f may be infinite
        terms = where(self.weights > 0.0, self.weights * f(self.values), zeros((), self.values.dtype))
        found: Tensor = self.size * reduce_sum(terms)
        return found

    @public
    def density(self, points: Any, width: float) -> Tensor:
        """Return the density of the eigenvalues at `points`, each one a normal distribution of standard deviation `width`."""
        if width <= 0.0:
            raise ValueError(f"width must be a number above 0, received {width!r}.")
        points = tensor(points, self.values.dtype)
        distance = (reshape(points, (*points.shape, 1)) - self.values) / width
        found: Tensor = reduce_sum(self.weights * exp(-0.5 * distance * distance), -1) / (width * math.sqrt(2.0 * math.pi))
        return found


@public
def spectral_density(
    matvec: Callable[..., Any], like: Any, steps: int = 32, samples: int = 8, seed: int | None = None
) -> Spectrum:
    """Estimate the eigenvalues of a symmetric matrix from products `matvec(v)` = A v, as a `Spectrum`: Lanczos quadrature.

    From each of `samples` vectors of random signs Lanczos' iteration makes `steps` products, orthogonal to rounding. It finds the
    outermost eigenvalues first. For each vector the quadrature is exact for polynomials up to degree 2 `steps` − 1. Ubaru,
    Chen and Saad, "Fast estimation of tr(f(A)) via stochastic Lanczos quadrature" (2017), algorithm 1.

    `like` is a nest of tensors as `matvec` takes, all float32 or all float64; `seed` an int for the same signs each time.
    ValueError if `steps` or `samples` is no positive int, or `matvec` gives another shape or dtype.

    >>> a = tf.constant([1.0, 2.0, 5.0])
    >>> spectrum = tf.autodiff.spectral_density(lambda v: a * v, tf.zeros([3]))
    >>> round(float(tf.reduce_max(spectrum.values)), 3)
    5.0
    """
    check_count("samples", samples)
    check_count("steps", steps)
    matrix = _Products(matvec, like, "spectral_density", seed)
    steps = min(steps, matrix.size)
    diagonal, beside = _lanczos(matrix, steps, samples)
    tridiagonal = diag(diagonal)
    if steps > 1:
        tridiagonal += diag(beside[:, :-1], k=1) + diag(beside[:, :-1], k=-1)
    values, vectors = eigh(tridiagonal)
    weights = vectors[:, 0, :] ** 2 / samples
    return Spectrum(reshape(values, (-1,)), reshape(weights, (-1,)), matrix.size)


def _lanczos(matrix: _Products, steps: int, samples: int) -> tuple[Tensor, Tensor]:
    """Return the diagonals and the off-diagonals of Lanczos' tridiagonal matrices, one row for each start."""
    eps = float(np.finfo(matrix.dtype.as_numpy_dtype).eps)

    def step(j: Tensor, basis: Tensor, diagonal: Tensor, beside: Tensor, v: Tensor) -> tuple[Tensor, ...]:
        here = one_hot(j, steps, dtype=matrix.dtype)
        basis += reshape(here, (1, -1, 1)) * reshape(v, (samples, 1, -1))
        w = matrix.of(v)
        size = sqrt(reduce_sum(w * w, 1, keepdims=True))
        alpha = reduce_sum(w * v, 1, keepdims=True)
        for _ in range(2):  # twice, because w may be almost in the span
            w -= reshape(matmul(reshape(matmul(basis, reshape(w, (samples, -1, 1))), (samples, 1, -1)), basis), (samples, -1))
        beta = sqrt(reduce_sum(w * w, 1, keepdims=True))
        beta = where(beta > 10.0 * eps * size, beta, zeros((), matrix.dtype))  # the span is complete
        after = where(beta > 0.0, w / where(beta > 0.0, beta, 1.0), zeros((), matrix.dtype))
        return j + 1, basis, diagonal + alpha * here, beside + beta * here, after

    start = matrix.signs(samples) / math.sqrt(matrix.size)
    rows = zeros((samples, steps), matrix.dtype)
    state = (0, zeros((samples, steps, matrix.size), matrix.dtype), rows, rows, start)
    _, _, diagonal, beside, _ = while_loop(lambda j, *_: j < steps, step, state)
    return diagonal, beside
