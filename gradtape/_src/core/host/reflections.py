"""QR decompositions of NumPy arrays by Householder's reflections, whose products one thread of BLAS computes.

LAPACK's `geqrf` calls BLAS for each column. Where other threads have the cores, BLAS's own wait for each other in every call:
a matrix of 1024 × 256, as the orthogonal initializer of a recurrent layer has, took 8 s of a busy machine instead of 0.05.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from gradtape._src.core.host.products import product

Array = Any

SMALL = 1 << 13  # of a matrix with so many elements LAPACK's products are for one thread anyway
PANEL = 32  # columns that are reflected one by one, before the others are as products of matrices


def qr(x: Array, complete: bool) -> tuple[Array, Array]:
    """Return Q and R of a matrix, with the signs of LAPACK; Q is square if it is to be `complete`.

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
    """Return how far reflections move the columns of `x`: V T Vᵀ x."""
    return product(v, product(t, product(v.T, x)))


def _panel(x: Array) -> tuple[Array, Array]:
    """Return V and T of reflections that leave nothing below the diagonal of `x`, whose place their result takes."""
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
    """Return vᵀ x without BLAS, which computes even the product with a vector by several threads."""
    return np.sum(v[:, None] * x, axis=0)


def _reflection(column: Array, v: Array) -> tuple[Any, Any]:
    """Write the vector of the reflection I − τ v vᵀ that takes `column` to β e₁ into `v`; return β and τ."""
    alpha, below = column[0], column[1:]
    v[0] = 1
    largest = np.abs(column).max()
    if not below.any():
        return alpha, column.dtype.type(0)
    norm = largest * np.sqrt(np.square(column / largest).sum())
    beta = -np.copysign(norm, alpha)
    v[1:] = below / (alpha - beta)
    return beta, (beta - alpha) / beta
