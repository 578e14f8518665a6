"""Statements of a function that run on the host: loops over Datasets and iterators, and statements whose body takes elements.

Each is a `ReduceDataset` (`control/dataset_loop`) that calls its body in each trip. A `while` is a loop over a Count that ends by
its condition; a branch is a loop of at most one trip.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from gradtape._src.control.bound_names import UNDEFINED, Bound, BoundState, empty, probed, returned, zeros_like
from gradtape._src.control.dataset_loop import Count, LoopState, ThroughEagerCode, can_be_op, record_loop, under_a_tape
from gradtape._src.control.iterators import TakesElement
from gradtape._src.control.scope import loops_on_host
from gradtape._src.core.engine import engine
from gradtape._src.core.tensors.convert import tensor
from gradtape._src.core.tensors.tensor import Tensor, handle
from gradtape._src.core.values import dtypes
from gradtape._src.ops.array import cast, select

MOST = np.iinfo(np.int64).max


def loop_on_host(
    source: Any, held: BoundState, run: Callable[[Any], None], test: Callable[[], Any] | None = None
) -> list[Tensor]:
    """Record a loop over `source` that runs while `test` holds; return the names' tensors after it."""
    scope: Any = engine.local.trace.scope
    assert loops_on_host(scope)
    _, get, bind = held.bound
    before = get()

    def step(carry: Sequence[Tensor], element: Any) -> list[Any]:
        bind(held.pack(carry))  # not `held.after`, as the loop keeps a copy of this function and of those in its closure
        run(element)
        return [*held.flat(get()), *([] if test is None else [test()])]

    state = LoopState([t.node for t in held.tensors], held.names, held.numbers, test is not None)
    try:
        last = record_loop(scope.through(source, step, state), scope)
    except engine.NeedsValues:
        bind(before)
        raise
    except Exception as error:  # an error of the user's code, which eager code raises again if there is an element
        bind(before)
        raise ThroughEagerCode(str(error), "Correct that line.") from error
    scope.rebound.append(lambda: bind(before))
    return [handle(n) for n in last]


def for_dataset(bound: Bound, dataset: Any, extra_test: Any, body: Any) -> None:
    """Record a loop over a Dataset or iterator; NeedsValues if the function has to run as eager code."""
    before = bound.get()
    if not can_be_op(dataset):
        raise under_a_tape()
    if not loops_on_host(engine.local.trace.scope):
        raise ThroughEagerCode(
            "the function takes a variable as an argument, or the loop stands in a function inside of it",
            "Let the function use the variable from outside, and put the loop into the function that is called.",
        )
    for name, value in zip(bound.names, before, strict=True):
        if returned(name, value):
            raise ThroughEagerCode("it returns inside of the loop", "Write `break` there, and `return` behind the loop.")
        if empty(value):
            raise ThroughEagerCode(f"'{name}' has no value before the loop", "Give it a tensor there.")
    if extra_test is not None and extra_test() is not True:
        raise ThroughEagerCode("whether it begins depends on values", "Decide before the loop whether it runs.")
    held = BoundState(bound, before)
    held.bind(loop_on_host(dataset, held, body, extra_test))


def while_on_host(holds: Any, limit: Any, state: BoundState, body: Callable[[], None], test: Any) -> list[Tensor]:
    """Record a loop that runs while `test` holds, at most `limit` times; `holds` is the condition before the first trip."""
    most = tensor(MOST if limit is None else limit, dtypes.int64)
    count = select.where(holds, most, tensor(0, dtypes.int64))
    return loop_on_host(Count(count), state, lambda _: body(), test)


def if_on_host(bound: Bound, condition: Any, body: Any, orelse: Any) -> None:
    """Record a branch that takes elements. `bound` are the names used afterwards."""
    taken = cast.cast(condition, dtypes.int64)
    ends: dict[Any, Any] = {}

    def trip(run: Callable[[], None], number: Any) -> None:
        run()
        ends[run] = bound.get()

    bound.set(_bound_before(bound, (body, orelse)))
    for trips, run in ((taken, body), (1 - taken, orelse)):
        held = BoundState(bound, bound.get())
        held.bind(loop_on_host(Count(trips), held, functools.partial(trip, run)))
    bound.set([a if _same_number(a, b) else after for after, a, b in zip(bound.get(), *ends.values(), strict=True)])


def _same_number(one: Any, other: Any) -> bool:
    """Return whether both branches leave the same Python number, such as the flag that the function has returned."""
    return isinstance(one, (bool, int, float)) and type(one) is type(other) and one == other


def _bound_before(bound: Bound, sides: Sequence[Any]) -> list[Any]:
    """Return the names' values before a branch, with zeros for unbound names that both branches bind."""
    before = list(bound.get())
    if not any(isinstance(value, UNDEFINED) for value in before):
        return before
    found = [probed(bound, before, run) for run in sides]
    bound.set(before)
    values = []
    for value, *after in zip(before, *found, strict=True):
        if isinstance(value, UNDEFINED):
            given = [b for b in after if not empty(b)]
            if not given or (len(given) < len(after) and not returned("", value)):
                raise TakesElement("a branch does not bind what the other one does")
            value = zeros_like(given[0])
        values.append(value)
    return values
