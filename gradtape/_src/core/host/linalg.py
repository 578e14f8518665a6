"""`jax.numpy.linalg` and `jax.lax.linalg` on NumPy arrays. A failure gives NaN, as in XLA, not an error."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from gradtape._src.core.host import reflections
from gradtape._src.core.host.products import product

Array = Any


def _each(function: Callable[[Array], Array]) -> Callable[[Array], Array]:
    """Return a function of stacked matrices that gives NaN for those on which it fails."""

    def over_stack(x: Array) -> Array:
        try:
            return function(x)
        except np.linalg.LinAlgError:
            if x.ndim == 2:
                return np.full_like(x, np.nan)
            return np.stack([over_stack(matrix) for matrix in x])

    return over_stack


class Numbers:
    """`jax.numpy.linalg`."""

    det, slogdet, norm, eigvalsh = np.linalg.det, np.linalg.slogdet, np.linalg.norm, np.linalg.eigvalsh
    inv = staticmethod(_each(np.linalg.inv))

    @staticmethod
    def solve(a: Array, b: Array) -> Array:
        """Return the solutions of `a x = b` for stacks of matrices `b`."""
        try:
            return np.linalg.solve(a, b)
        except np.linalg.LinAlgError:
            if a.ndim == 2:
                return np.full_like(b, np.nan)
            return np.stack([Numbers.solve(left, right) for left, right in zip(a, b, strict=True)])

    @staticmethod
    def qr(x: Array, mode: str = "reduced") -> Any:
        """Return factors Q and R."""
        if x.ndim == 2 and x.size > reflections.SMALL:
            return reflections.qr(x, mode == "complete")
        return tuple(np.linalg.qr(x, "complete" if mode == "complete" else "reduced"))

    @staticmethod
    def svd(x: Array, full_matrices: bool = True, compute_uv: bool = True) -> Any:
        """Return the singular value decomposition."""
        return tuple(np.linalg.svd(x, full_matrices)) if compute_uv else np.linalg.svd(x, compute_uv=False)


class Primitives:
    """`jax.lax.linalg`."""

    @staticmethod
    def cholesky(x: Array, symmetrize_input: bool = True) -> Array:
        """Return lower triangular factors."""
        return np.tril(_each(np.linalg.cholesky)((x + np.swapaxes(x, -1, -2).conj()) / 2 if symmetrize_input else x))

    @staticmethod
    def triangular_solve(
        a: Array, b: Array, left_side: bool = False, lower: bool = False, transpose_a: bool = False, conjugate_a: bool = False
    ) -> Array:
        """Return the solutions of `a x = b`, reading only one triangle of `a`."""
        from scipy.linalg import solve_triangular

        if not left_side:
            raise NotImplementedError("x a = b")
        way = "C" if transpose_a and conjugate_a else "T" if transpose_a else "N"
        result = np.empty_like(b)
        for place in np.ndindex(b.shape[:-2]):
            try:
                result[place] = solve_triangular(a[place], b[place], trans=way, lower=lower, check_finite=False)
            except np.linalg.LinAlgError:
                result[place] = _substituted(a[place], b[place], lower, way)
        return result

    @staticmethod
    def eigh(x: Array, lower: bool = True, symmetrize_input: bool = True) -> tuple[Array, Array]:
        """Return eigenvectors and eigenvalues of Hermitian matrices."""
        e, v = np.linalg.eigh((x + np.swapaxes(x, -1, -2).conj()) / 2 if symmetrize_input else x, "L" if lower else "U")
        return v, e


def _substituted(a: Array, b: Array, lower: bool, way: str) -> Array:
    """Return the solution of a singular triangular system by substitution: infinite or NaN."""
    a = a if way == "N" else a.T if way == "T" else a.conj().T
    rows = range(len(a)) if lower == (way == "N") else range(len(a) - 1, -1, -1)
    triangle = np.tril(a, -1) if lower == (way == "N") else np.triu(a, 1)
    x = np.zeros_like(b)
    for row in rows:
        x[row] = (b[row] - product(triangle[row : row + 1], x)[0]) / a[row, row]
    return x
