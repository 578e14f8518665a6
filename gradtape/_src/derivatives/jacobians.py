"""Full Jacobians and Hessians of functions."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from gradtape._src.core.base.public import public
from gradtape._src.derivatives.evaluation import Evaluation, inexact
from gradtape._src.derivatives.products import gradients_of


@public
def jacrev(f: Callable[..., Any], args: Any = (), sources: Any = None, chunk_size: int | None = None) -> Any:
    """Return the Jacobian of `f` at `args` in reverse mode: one row for each element of the result, all in one vectorised
    call.

    For each tensor of the result a structure like `args` (or `sources`), with tensors of shape result.shape +
    argument.shape; zeros where there is no dependence, None for arguments that are not floating or complex. `args` and
    `sources` as for `jvp`. `chunk_size`: the number of rows at a time. ResourceExhaustedError, with a chunk size that fits, if
    all rows do not fit into memory.

    >>> tf.autodiff.jacrev(lambda x: x[0] * x, tf.constant([2.0, 3.0])).numpy().tolist()
    [[4.0, 0.0], [3.0, 2.0]]
    """
    return _jacobian(Evaluation(f, args, sources), "reverse", chunk_size)


@public
def jacfwd(f: Callable[..., Any], args: Any = (), sources: Any = None, chunk_size: int | None = None) -> Any:
    """Return the Jacobian like `jacrev`, in forward mode: one column for each element of the arguments. For functions with
    more results.

    >>> tf.autodiff.jacfwd(lambda x: tf.stack([x, x**2, x**3]), tf.constant(2.0)).numpy().tolist()
    [1.0, 4.0, 12.0]
    """
    return _jacobian(Evaluation(f, args, sources), "forward", chunk_size)


def _jacobian(at: Evaluation, mode: str | None, chunk_size: int | None) -> Any:
    results = []
    for target in at.targets.leaves:
        found = [None] * len(at.wanted)
        if inexact(target):
            found = at.tape.jacobian(target, at.active, unconnected_gradients="zero", chunk_size=chunk_size, mode=mode)
        results.append(at.pack(found))
    return at.targets.pack(results)


@public
def hessian(f: Callable[..., Any], args: Any = (), sources: Any = None, chunk_size: int | None = None) -> Any:
    """Return the Hessian of `f`, which returns a scalar, at `args`: the Jacobian of its gradient.

    Of one tensor, a tensor of shape x.shape + x.shape; of a nest, a nest of nests: the block of leaves i and j at
    [i][j]. `args` and `sources` as for `jvp`, `chunk_size` as for `jacrev`. ValueError where `f` does not return one scalar.

    >>> tf.autodiff.hessian(lambda x: x[0] ** 2 * x[1], tf.constant([2.0, 3.0])).numpy().tolist()
    [[6.0, 4.0], [4.0, 0.0]]
    """
    at = Evaluation(gradients_of(f, sources, "hessian"), args, sources)
    return at.pack(_jacobian(at, "reverse", chunk_size))
