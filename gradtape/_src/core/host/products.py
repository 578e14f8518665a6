"""Products of matrices on NumPy arrays, each by one thread of BLAS."""

from __future__ import annotations

from typing import Any

import numpy as np

Array = Any

# BLAS computes a product of at most so many multiplications by one thread. More of them would fight XLA's for the cores.
SERIAL = 1 << 18


def product(x: Array, y: Array) -> Array:
    """Return the matrix products of `x` and `y`, whose batch axes are the same, in parts that BLAS computes by one thread."""
    rows, inner, columns = x.shape[-2], x.shape[-1], y.shape[-1]
    if rows * inner * columns <= SERIAL or x.dtype.kind in "iub":
        return np.matmul(x, y)
    if inner >= max(rows, columns):
        half = inner // 2
        return product(x[..., :half], y[..., :half, :]) + product(x[..., half:], y[..., half:, :])
    if rows >= columns:
        half = rows // 2
        return np.concatenate([product(x[..., :half, :], y), product(x[..., half:, :], y)], -2)
    half = columns // 2
    return np.concatenate([product(x, y[..., :half]), product(x, y[..., half:])], -1)
