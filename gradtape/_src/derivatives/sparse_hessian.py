"""Sparse Hessians: sparse Jacobians of gradients, with fewer products thanks to symmetry."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from gradtape._src.core.base.public import public
from gradtape._src.derivatives.evaluation import check_function
from gradtape._src.derivatives.products import gradients_of
from gradtape._src.derivatives.sparse_jacobian import Recorded, check_options, matrix_of
from gradtape._src.derivatives.sparsity import MIRRORED, Sparsity


def _traced(f: Callable[..., Any], args: Any, sources: Any, what: str) -> Recorded:
    """Return the traced gradient of a function."""
    check_function(f)
    gradients = gradients_of(f, sources, what)

    def gradient(*given: Any) -> Any:
        found = gradients(*given)
        return found[0] if len(found) == 1 else found

    return Recorded(gradient, args, sources)


@public
def hessian_sparsity(f: Callable[..., Any], args: Any, sources: Any = None, mode: str = "symmetric") -> Sparsity:
    """Return the sparsity pattern of the Hessian of `f`, which returns a scalar, at `args`, for `sparse_hessian(…, pattern=…)`.

    `args` and `sources` as for `sparse_hessian`; see `jacobian_sparsity` for how it is found. `mode`: with "symmetric" each
    entry, or its mirror image, is an element of a product, to all its digits (star colouring). With "substitution" it may be
    an element minus entries that were found before (acyclic colouring): fewer products, often half as many. There the
    rounding error of an entry is relative to the largest that it is computed from. ValueError for another mode. Gebremedhin,
    Tarafdar, Manne and Pothen, "New acyclic and star coloring algorithms with application to computing Hessians" (2007).

    >>> tf.autodiff.hessian_sparsity(lambda x: tf.reduce_sum(x[1:] * x[:-1] ** 2), tf.ones([5]))
    <Sparsity 5×5, 12 entries, 3 products symmetric>
    >>> tf.autodiff.hessian_sparsity(lambda x: tf.reduce_sum(x[1:] * x[:-1] ** 2), tf.ones([5]), mode="substitution").products
    2
    """
    if mode not in MIRRORED:
        raise ValueError(f"The mode of a Hessian is 'symmetric' or 'substitution', received {mode!r}.")
    return _traced(f, args, sources, "hessian_sparsity").sparsity(mode)


@public
def sparse_hessian(
    f: Callable[..., Any],
    args: Any,
    pattern: Sparsity | None = None,
    format: str = "csr",
    chunk_size: int | None = None,
    sources: Any = None,
) -> Any:
    """Return the exact Hessian of `f`, which returns a scalar, at `args`, from as many products as its pattern has colours.

    The products are Hessian-vector products. As the Hessian is symmetric they are fewer than for a Jacobian: two for an arrow.
    `pattern`: from `hessian_sparsity`, None to find it. The other arguments, the formats and the errors are those of
    `sparse_jacobian`. In eager code one more product tells a Hessian that custom gradients make unsymmetric
    (InvalidArgumentError). ValueError where `f` does not return one scalar. Gebremedhin, Manne and Pothen, "What color is your
    Jacobian?" (2005), section 4.

    >>> hessian = tf.autodiff.sparse_hessian(lambda x: tf.reduce_sum(x[0] * x**2), tf.constant([1.0, 2.0, 3.0]))
    >>> hessian.toarray().tolist()
    [[6.0, 4.0, 6.0], [4.0, 2.0, 0.0], [6.0, 0.0, 2.0]]
    """
    check_options(format, chunk_size)
    traced = _traced(f, args, sources, "sparse_hessian")
    return matrix_of(traced, pattern, "symmetric", format, chunk_size, checked=True)
