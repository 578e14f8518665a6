"""Newton steps: systems whose matrix is the sparse Jacobian of a function at a point."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from gradtape._src.core.base.public import public
from gradtape._src.core.tensors.convert import tensor
from gradtape._src.core.tensors.tensor import extents_of
from gradtape._src.derivatives.linear_solve import Unknowns, finite, solved
from gradtape._src.derivatives.slopes import adjoint_of, slope_of
from gradtape._src.derivatives.sparsity import Sparsity, sparsity_of, stated


@public
def sparse_solve(f: Callable[[Any], Any], x: Any, r: Any, pattern: Sparsity | None = None) -> Any:
    """Return the `p` with `J p = r`, where `J` is the sparse Jacobian of `f` at `x`: a step of Newton's method has `r = -f(x)`.

    It has derivatives of any order to `x`, to `r` and to what `f` uses, in both modes. `f`: from a nest like `x` to one like it,
    made of ops. `x`, `r`: tensors or nests of one structure, all float32 or all float64, which `p` has, too. `pattern`: from
    `jacobian_sparsity`, None to find it. The entries of `J` come from as many products as it has colours, and its LU factors from
    SciPy (SuperLU), on the host. InvalidArgumentError where `J` is singular to rounding, or the pattern misses
    entries of it; in gradients NaN. ValueError for an `f` with effects, NotImplementedError for one that looks at values.

    >>> f = lambda x: x**3 + tf.roll(x, 1, 0)
    >>> x = tf.constant([1.0, 2.0, 3.0])
    >>> p = tf.autodiff.sparse_solve(f, x, -f(x))
    >>> bool(tf.norm(f(x + p)) < tf.norm(f(x)))
    True
    """
    unknowns, right = Unknowns(x, "sparse_solve"), Unknowns(r, "sparse_solve")
    if extents_of(right.vector) != extents_of(unknowns.vector) or right.vector.dtype != unknowns.vector.dtype:
        raise ValueError(
            f"tf.autodiff.sparse_solve takes an r like x: x has {extents_of(unknowns.vector)[0]} elements of "
            f"{unknowns.vector.dtype.name}, r {extents_of(right.vector)[0]} of {right.vector.dtype.name}."
        )
    function, used = unknowns.traced(f)
    inputs, n = [unknowns.vector.node, *used], unknowns.vector.node.aval.size
    if pattern is None:
        pattern = sparsity_of(function, inputs, 1, [0], [n], "forward")
    p = solved(adjoint_of(slope_of(function)), [tensor(right.vector).node, *inputs], stated(pattern, (n, n)))
    return unknowns.pack(finite(p, "sparse_solve"))
