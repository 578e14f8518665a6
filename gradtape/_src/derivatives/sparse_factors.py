"""Sparse systems by SciPy's LU factors, on the host: SuperLU, Demmel and others, "A supernodal approach" (1999)."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from gradtape._src.autodiff.vectorized import called_on_rows
from gradtape._src.core.declarations.define import not_differentiable, op
from gradtape._src.core.platform.arrays import jnp
from gradtape._src.core.programs.program import Program
from gradtape._src.core.tensors.tensor import Tensor
from gradtape._src.derivatives.sparsity import Sparsity
from gradtape._src.ops.array.creation import one_hot
from gradtape._src.ops.linalg.host import by_numpy


def by_sparse_factors(function: Program, b: Tensor, used: Sequence[Tensor], pattern: Sparsity) -> Tensor:
    """Record ops that solve a system for the Program (x, captures…) → A x; NaN if the matrix is singular to rounding.

    The entries of the matrix come from as many products as the pattern has colours.
    """
    pattern = pattern.by_columns
    if not pattern.products:
        return b * np.nan
    seeds = one_hot(pattern.colours, pattern.products, dtype=b.dtype, axis=0)
    x: Tensor = _solution(called_on_rows(function, seeds, [x.node for x in used]), b, pattern=pattern)
    return x


@op("SparseSolution", unhosted="it calls SciPy itself", infer=lambda products, b, pattern: b, traits="own")
def _solution(products, b, *, pattern):
    """Return x with A x = b, where `products` are those of A with the sum of the unit vectors of each colour."""
    eps = float(jnp.finfo(b.dtype).eps)

    def solve(products, b):
        from scipy import sparse
        from scipy.sparse import linalg

        entries, size = products.reshape(-1)[pattern.places], np.zeros(len(b))
        x = np.full_like(b, np.nan)
        if not np.isfinite(entries).all():
            return x
        np.maximum.at(size, pattern.rows, abs(entries))  # rows are scaled by their largest entry
        if not (size > 0).all():
            return x
        matrix = sparse.csc_matrix((entries / size[pattern.rows], (pattern.rows, pattern.columns)), pattern.shape)
        try:
            factors = linalg.splu(matrix)
        except RuntimeError:  # singular
            return x
        pivots = abs(factors.U.diagonal())
        if pivots.min() > 10 * len(b) * eps * pivots.max():
            x = factors.solve(b / size)
            x += factors.solve(b / size - matrix @ x)
        return x

    return by_numpy(solve, b.shape, products, b).astype(b.dtype)


not_differentiable(_solution, because="it stands in the program of a LinearSolve, which has a gradient")
