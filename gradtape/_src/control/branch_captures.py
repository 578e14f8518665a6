"""The captures of a branch or loop body that did not run, in a function that runs as eager code.

In TensorFlow an `if` or loop on tensors is one op that takes the captures of all branches. Its gradient is zeros for a branch
that did not run, not None. Eager code under a tape records only the taken branch. So the other branch, or the body of a loop
without a trip, is traced and discarded. The statement's results are joined with its captures.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from gradtape._src.autodiff.backward import Entry, blocks, differentiable
from gradtape._src.control.scope import Scope, is_constant
from gradtape._src.core.engine import engine, tracing
from gradtape._src.core.programs.program import Node, leaf
from gradtape._src.core.tensors import nest
from gradtape._src.core.tensors.convert import is_tensor
from gradtape._src.core.tensors.tensor import EagerTensor, Tensor, handle
from gradtape._src.core.values.aval import Aval
from gradtape._src.ops.array.shape import identity_n

if TYPE_CHECKING:  # it imports malt, which is slow
    from gradtape._src.control.bound_names import Bound


def on_tape() -> bool:
    """Return whether the running code belongs to a function that runs as eager code under a tape."""
    return tracing.local.functions > 0 and engine.local.trace.scope is None and engine.taped()


def counts(decides: Any) -> bool:
    """Return whether a statement on `decides` is an op in TensorFlow, but only its taken branch is on the tape."""
    return is_tensor(decides) and on_tape()


def captures_of(function: Callable[..., Any], *arguments: Aval) -> list[Tensor]:
    """Return the captures of `function`: outside tensors, and values of variables, on which its results depend.

    `arguments` are the Avals of the symbols that are passed to it.
    """
    symbols = [leaf(of, None) for of in arguments]
    scope = Scope(nested=True)
    results: list[Node] | None = None
    with tracing.inner(scope) as inner:
        scope.trace = inner
        # This branch did not run, so its error is not the user's. Captures found before the error count.
        with contextlib.suppress(Exception):
            results = _floating(function(*map(handle, symbols)))
            tracing.enter(inner, results)
    leading = set(inner.nodes if results is None else results)
    for node in reversed(inner.nodes):
        if node in leading and not blocks(Entry(node, node.inputs)):
            leading.update(node.inputs)
    read = {origin: variable for variable, origin in scope.variables.values()}
    used = [node for node in inner.leaves if node not in symbols and (node in read or not is_constant(node))]
    used = [node for node in used if differentiable(node) and (results is None or node in leading)]
    return [EagerTensor(read[node].read()) if node in read else handle(node) for node in used]


def _floating(results: Any) -> list[Node]:
    leaves, _ = nest.flatten_with_spec(results, nest.EXPANDED)
    return [x.node for x in leaves if isinstance(x, Tensor) and x.node.aval.inexact]


def joined(results: Any, also: Sequence[Any] = ()) -> Any:
    """Wrap the results in one IdentityN with `also`, so that every input of either branch gets zeros and not None."""
    leaves, spec = nest.flatten_with_spec(results)
    places = [i for i, x in enumerate(leaves) if type(x) is EagerTensor and x.node.aval.inexact]
    taken = [x for x in also if isinstance(x, Tensor) and x.node.aval.inexact]
    if not places or len(places) + len(taken) < 2:
        return results
    for place, new in zip(places, identity_n([*[leaves[i] for i in places], *taken]), strict=False):
        leaves[place] = new
    return nest.unflatten(spec, leaves)


def chosen(decides: Any, taken: Callable[[], Any], others: Sequence[Callable[[], Any]]) -> Any:
    """Run `taken`; join its results with the captures of the other branches."""
    results = taken()
    return joined(results, [x for other in others for x in captures_of(other)]) if counts(decides) else results


def repeated(start: Any, results: Any, trips: int, body: Callable[[Any], Any]) -> Any:
    """Join the results of a `while_loop` with its initial loop variables and its captures."""
    if not on_tape():
        return results
    return joined(results, [*nest.flatten(start), *([] if trips else captures_of(lambda: body(start)))])


def switched(bound: Bound, taken: Callable[[], None], other: Callable[[], None]) -> None:
    """Run the branch taken, and also record what the other branch reads, so that its sources get zeros and not None."""
    before = bound.get()
    taken()
    after = bound.get()

    def instead() -> Any:
        bound.set(before)
        other()
        return bound.get()

    bound.set(joined(list(after), captures_of(instead)))


def looped(bound: Bound, before: Any, trips: Any, body: Callable[..., None], item: Sequence[Aval]) -> None:
    """Join the names' values after a loop on tensors with those `before`; without `trips` also with the captures of `body`.

    `item` has the Avals of the element that a `for` loop passes to its body.
    """
    after = bound.get()
    also: list[Any] = nest.flatten(list(before))

    def once(*row: Tensor) -> Any:
        bound.set(before)
        body(*row)
        return bound.get()

    if not trips:
        also += captures_of(once, *item)
    bound.set(tuple(joined(list(after), also)))
