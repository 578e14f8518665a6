"""QR decompositions of NumPy arrays by Householder reflections, with products that use one thread of BLAS.

LAPACK's `geqrf` calls BLAS for each column. On a busy machine BLAS's threads then wait for each other in every call. A matrix of
1024 × 256, as for the orthogonal initializer of a recurrent layer, took 8 s there instead of 0.05.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from gradtape._src.core.host.products import product

Array = Any

SMALL = 1 << 13  # for so few elements, LAPACK uses one thread anyway
PANEL = 32  # the number of columns reflected one by one; then the others are updated by matrix products


def qr(x: Array, complete: bool) -> tuple[Array, Array]:
    """Return Q and R of a matrix, with LAPACK's signs; Q is square if `complete`.

    A panel of reflections is I − V T Vᵀ with a triangular T: Schreiber and Van Loan, "A storage-efficient WY representation
    for products of Householder transformations", SIAM J. Sci. Stat. Comput. 10 (1989).
    """
    rows, columns = x.shape
    least = min(rows, columns)
    r, panels = x.copy(), []
    for first in range(0, least, PANEL):
        last = min(first + PANEL, least)
        v, t = _panel(r[first:, first:last])
        r[first:, last:] -= _moved(v, t.T, r[first:, last:])
        panels.append((first, v, t))
    size = rows if complete else least
    q = np.eye(rows, size, dtype=x.dtype)
    for first, v, t in reversed(panels):
        q[first:, first:] -= _moved(v, t, q[first:, first:])
    return q, np.triu(r[:size])


def _moved(v: Array, t: Array, x: Array) -> Array:
    """Return `V T Vᵀ x`, the change of `x` by the reflections."""
    return product(v, product(t, product(v.T, x)))


def _panel(x: Array) -> tuple[Array, Array]:
    """Return V and T of the reflections that make `x` upper triangular; `x` is overwritten by the result."""
    rows, columns = x.shape
    v, t = np.zeros((rows, columns), x.dtype), np.zeros((columns, columns), x.dtype)
    for i in range(columns):
        column, rest = x[i:, i], x[i:, i + 1 :]
        beta, tau = _reflection(column, v[i:, i])
        column[0], column[1:] = beta, 0
        rest -= np.multiply.outer(tau * v[i:, i], _along(v[i:, i], rest))
        t[i, i] = tau
        t[:i, i] = -tau * np.sum(t[:i, :i] * _along(v[i:, i], v[i:, :i]), axis=1)
    return v, t


def _along(v: Array, x: Array) -> Array:
    """Return vᵀ x without BLAS, which would use several threads even for a vector."""
    return np.sum(v[:, None] * x, axis=0)


def _reflection(column: Array, v: Array) -> tuple[Any, Any]:
    """Write the vector v of the reflection I − τ v vᵀ that maps `column` to β e₁ into `v`; return β and τ."""
    alpha, below = column[0], column[1:]
    v[0] = 1
    largest = np.abs(column).max()
    if not below.any():
        return alpha, column.dtype.type(0)
    norm = largest * np.sqrt(np.square(column / largest).sum())
    beta = -np.copysign(norm, alpha)
    v[1:] = below / (alpha - beta)
    return beta, (beta - alpha) / beta
