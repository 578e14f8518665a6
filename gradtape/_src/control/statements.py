"""`if`, `while` and `for` in transformed code: Python's statements, or ops if a tensor decides."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

import numpy as np

from gradtape._src.control import branch, branch_captures, loop
from gradtape._src.control.bound_names import (
    UNDEFINED,
    Bound,
    BoundState,
    can_be_result,
    check_not_none,
    defined,
    empty,
    flatten,
    returned,
    symbolic,
)
from gradtape._src.control.dataset_loop import Count, ThroughEagerCode
from gradtape._src.control.dynamic_range import DynamicRange
from gradtape._src.control.host_statements import for_dataset, if_on_host, loop_on_host, while_on_host
from gradtape._src.control.iterators import TakesElement
from gradtape._src.control.loop import check_same
from gradtape._src.control.mapping import MappedRows, record_rows
from gradtape._src.control.python_loops import Rules, for_in_python, rules_of
from gradtape._src.control.scope import TENSOR, Draft, ResultStructure, Scope, draft, local, loops_on_host
from gradtape._src.control.tensor_array import TensorArray
from gradtape._src.control.tensor_array_size import Growth
from gradtape._src.core.engine import constant_folding, engine
from gradtape._src.core.programs.op import has_strings
from gradtape._src.core.programs.program import Node, leaf
from gradtape._src.core.tensors import nest
from gradtape._src.core.tensors.convert import is_tensor, tensor
from gradtape._src.core.tensors.tensor import Tensor, handle
from gradtape._src.core.values import dtypes
from gradtape._src.core.values.aval import Aval, row_of
from gradtape._src.ops.array import cast, select, shape as array
from gradtape._src.ops.array.creation import number_of_rows
from gradtape._src.ops.array.gather import gather
from gradtape._src.ops.math import compare
from gradtape._src.ops.math.arithmetic import minimum
from gradtape._src.ops.math.compare import logical_not
from gradtape._src.ops.math.rounding import ceil

T = TypeVar("T")


def _op_or_host(bound: Bound, as_op: Callable[[], T], on_host: Callable[[], T]) -> T:
    """Return `as_op()`, which records a statement as one op; `on_host()` if it takes elements, which only the host can do."""
    scope: Any = engine.local.trace.scope
    if not loops_on_host(scope):
        return as_op()
    before, count = bound.get(), len(scope.inside)
    try:
        return as_op()
    except (TakesElement, ThroughEagerCode):
        if engine.taped():
            raise
    del scope.inside[count:]
    bound.set(before)
    return on_host()


# ---------------------------------------------------------------------------------------------------------------------
# if


def if_stmt(
    condition: Any,
    body: Callable[[], None],
    orelse: Callable[[], None],
    get_state: Callable[[], Any],
    set_state: Callable[[Any], None],
    symbol_names: Sequence[str],
    nouts: int,
) -> None:
    """Run an `if` statement; it binds `symbol_names`, of which the first `nouts` are used afterwards."""
    if not symbolic(condition) and not branch_captures.counts(condition):
        (body if condition else orelse)()
        return
    bound = Bound(symbol_names, get_state, set_state).first(nouts)
    if not symbolic(condition):
        branch_captures.switched(bound, *((body, orelse) if condition else (orelse, body)))
        return
    pred = branch._scalar_bool(condition, "The condition of `if`").node
    before = bound.get()

    def as_op() -> None:
        first, second = [_Branch(bound, before, run) for run in (body, orelse)]
        merged = _merge(first, second, bound.names, condition)
        results = iter(branch.join(pred, (first.body, second.body), branch.IF, ("the main branch", "the else branch")))
        bound.set([m.fill(results) if isinstance(m, ResultStructure) else m for m in merged])

    _op_or_host(bound, as_op, lambda: if_on_host(bound, condition, body, orelse))


def _check_returns(branch: str) -> None:
    """Check that an `if` on a tensor may lack a return value in this branch."""
    local.returned_partly = True
    if not local.may_return_partly:
        raise ValueError(
            f"the {branch} branch must also have a return statement: an `if` on a tensor returns in the other branch, and what "
            "follows gives no such value. Put a `return` at the end of the function, and return tensors in both."
        )


class _Branch:
    """A traced branch: for each bound name, the leaves of its final value, and which of them are tensors."""

    def __init__(self, bound: Bound, before: Any, run: Callable[[], None]) -> None:
        self.leaves: list[list[Any]] = []
        self.specs: list[Any] = []

        def branch_results() -> list[Any]:
            bound.set(before)
            run()
            flat = []
            for value in bound.get():
                leaves, spec = flatten(value)
                self.leaves.append(leaves)
                self.specs.append(spec)
                flat += [tensor(x) for x in leaves if can_be_result(x)]
            return flat

        self.body = draft(branch_results, (), Scope(nested=True))
        bound.set(before)


def _array_of_zeros(arrays: Sequence[TensorArray], places: list[list[int | None]]) -> tuple[int | None, int | None]:
    """Return the plan for a TensorArray that only one branch has written: zeros for the other branch."""
    if arrays[0]._count() != arrays[1]._count() or bool(places[0]) == bool(places[1]):
        raise engine.NeedsValues("a TensorArray has another size in each branch: how many entries it has depends on values")
    return (places[0][0], None) if places[0] else (None, places[1][0])


def _negates(condition: Any, value: Any) -> bool:
    node = condition.node
    return isinstance(value, Tensor) and node.inputs == (value.node,) and node.key[0].plain is logical_not.op


def _merge(first: _Branch, second: _Branch, names: Sequence[str], condition: Any) -> list[Any]:
    """Return each name's value after the branches, and give both branches the results that these values need.

    A ResultStructure stands for a value with results of the op in it.
    """
    merged: list[Any] = []
    plans: list[tuple[int | None, int | None]] = []  # for each output of the op, the result of each branch; None: zeros
    numbers = itertools.count(), itertools.count()
    for name, mine, other, spec, spec2 in zip(names, first.leaves, second.leaves, first.specs, second.specs, strict=False):
        both = zip(numbers, (mine, other), strict=True)
        places = [[next(number) if can_be_result(x) else None for x in leaves] for number, leaves in both]
        if len(mine) == len(other) == 1 and mine[0] is True and _negates(condition, other[0]):
            merged.append(True)  # the pattern `if not done: …; done = True`
            continue
        undefined = [len(leaves) == 1 and isinstance(leaves[0], UNDEFINED) for leaves in (mine, other)]
        if all(undefined):
            merged.append(mine[0])
            continue
        if any(undefined):
            where = "main" if undefined[0] else "else"
            if not returned(name, (mine if undefined[0] else other)[0]):
                raise ValueError(
                    f"'{name}' must also be initialized in the {where} branch: both branches of an `if` on a tensor are part of "
                    f"the function. Give '{name}' a value before the `if`, or in both branches."
                )
            _check_returns(where)
            leaves, leaves_spec, here = (other, spec2, places[1]) if undefined[0] else (mine, spec, places[0])
            if not all(can_be_result(x) for x in leaves):
                merged.append(nest.unflatten(leaves_spec, leaves))
                continue
            merged.append(ResultStructure(leaves_spec, [TENSOR] * len(leaves)))
            plans += [(None, p) if undefined[0] else (p, None) for p in here]
            continue
        if spec != spec2:
            arrays = nest.unflatten(spec, mine), nest.unflatten(spec2, other)
            if all(isinstance(array, TensorArray) for array in arrays):
                plan = _array_of_zeros(arrays, places)
                merged.append(ResultStructure(spec if mine else spec2, [TENSOR]))
                plans.append(plan)
                continue
            raise TypeError(
                f"'{name}' does not have the same nested structure in the main and the else branch: "
                f"{nest.unflatten(spec, mine)!r} and {nest.unflatten(spec2, other)!r}."
            )
        held = []
        for x, y, p, q in zip(mine, other, *places, strict=True):
            check_not_none(name, x, y)
            if x is y or (p is not None and q is not None and not is_tensor(x) and not is_tensor(y) and _equal(x, y)):
                held.append(x)
            elif p is None or q is None:
                kind = "main" if p is None else "else"
                raise ValueError(
                    f"'{name}' is {x if p is None else y!r} at the end of the {kind} branch, and a tensor or another object at "
                    "the end of the other. An `if` on a tensor can choose between tensors only."
                )
            else:
                _check_dtypes(name, first.body, second.body, p, q)
                held.append(TENSOR)
                plans.append((p, q))
        merged.append(ResultStructure(spec, held))
    _arrange((first.body, second.body), plans)
    return merged


def _check_dtypes(name: str, first: Draft, second: Draft, p: int, q: int) -> None:
    a, b = first.results[p].aval, second.results[q].aval
    if a.dtype is not b.dtype and not _is_number(first, p) and not _is_number(second, q):
        raise TypeError(
            f"'{name}' has dtype {a.type.name} in the main branch, but dtype {b.type.name} in the else branch. Use tf.cast in "
            "one of them."
        )


def _equal(x: Any, y: Any) -> bool:
    return type(x) is type(y) and not isinstance(x, np.ndarray) and x == y


def _arrange(bodies: tuple[Draft, Draft], plans: Sequence[tuple[int | None, int | None]]) -> None:
    """Give both bodies the planned results. A Python number takes the other branch's dtype, a missing one is zeros."""
    avals = [[node.aval for node in body.results] for body in bodies]
    numbers = [[_is_number(body, i) for i in range(len(body.results))] for body in bodies]
    wanted = []
    for p, q in plans:
        if p is None or q is None:
            wanted.append(avals[0][p] if p is not None else avals[1][q])  # type: ignore[index]
        else:
            a, b = avals[0][p], avals[1][q]
            wanted.append(b if numbers[0][p] and not numbers[1][q] and b.inexact >= a.inexact else a)

    def result(k: int, place: int | None, of: Aval) -> Tensor:
        if place is None:
            return array.zeros(of.shape, of.type)
        given = handle(bodies[k].results[place])
        return cast.cast(given, of.type) if numbers[k][place] and given.dtype != of.type and of.inexact else given

    for k, body in enumerate(bodies):
        body.gives(lambda k=k: [result(k, pair[k], of) for pair, of in zip(plans, wanted, strict=True)])  # type: ignore[misc]


def _is_number(body: Draft, output: int) -> bool:
    """Return whether a branch's result is a scalar constant, such as a Python number."""
    node = body.results[output]
    return body.holds(node) and not node.aval.shape and not has_strings(node.aval)


# ---------------------------------------------------------------------------------------------------------------------
# while and for


def while_stmt(
    test: Callable[[], Any],
    body: Callable[[], None],
    get_state: Callable[[], Any],
    set_state: Callable[[Any], None],
    symbol_names: Sequence[str],
    opts: Any,
) -> None:
    """Run a `while` statement, in Python as long as its condition is not a tensor."""
    scope, bound = engine.local.trace.scope, Bound(symbol_names, get_state, set_state)
    start = None if scope is not None else get_state()
    rules: Rules | None = None
    trips = 0
    while True:
        before = get_state()
        holds = test()
        if symbolic(holds):
            break
        if not trips:
            rules = rules_of(holds, bound)
        if not holds:
            if rules is not None:
                rules.ended()
            if branch_captures.counts(holds):
                branch_captures.looped(bound, start, trips, body, ())
            return
        body()
        trips += 1
        if rules is not None:
            rules.made_a_trip()
    set_state(before)
    _staged_while(bound, test, body, opts, holds)


def _staged_while(bound: Bound, test: Any, body: Any, opts: Any, holds: Any) -> None:
    """Record a loop on tensors; `holds` is the value of the condition before the first trip."""
    limit = (opts or {}).get("maximum_iterations")
    state = BoundState(bound, defined(bound, body, test))

    def condition(tensors: Any) -> Any:
        state.bind(tensors)
        return test()

    def as_op() -> list[Tensor]:
        return loop.run_loop(condition, lambda x: state.after(x, body), state.tensors, limit, state.names, holds)

    state.bind(_op_or_host(bound, as_op, lambda: while_on_host(holds, limit, state, body, test)))


def for_stmt(
    iterated: Any,
    extra_test: Callable[[], Any] | None,
    body: Callable[[Any], None],
    get_state: Callable[[], Any],
    set_state: Callable[[Any], None],
    symbol_names: Sequence[str],
    opts: Any,
) -> None:
    """Run a `for` statement: one op over a tensor's rows or a range of tensors, else a Python loop."""
    bound = Bound(symbol_names, get_state, set_state)
    if not is_tensor(iterated) and hasattr(iterated, "element_spec") and engine.local.trace.scope is not None:
        for_dataset(bound, iterated, extra_test, body)
        return
    limit = (opts or {}).get("maximum_iterations")
    if isinstance(iterated, DynamicRange):
        _starts_at(bound, iterated.start, opts)
        _for_range(bound, iterated, limit, extra_test, body)
    elif symbolic(iterated):
        rows = tensor(iterated)
        if rows.node.aval.ranked and not rows.ndim:
            raise TypeError("Cannot iterate over a scalar tensor: loop over tf.range(n).")
        if limit is not None:
            rows = rows[: int(limit)]
        count, number = number_of_rows(rows)
        if extra_test is None or count == 0:
            _for_rows(bound, rows, body)
        else:
            _counted(
                bound, lambda i: gather(rows, i), tensor(count, dtypes.int64) if number is None else number, extra_test, body
            )
    else:
        start = get_state()
        for_in_python(iterated, extra_test, body, rules_of(iterated, bound))
        if branch_captures.counts(iterated):
            of = tensor(iterated).node.aval
            branch_captures.looped(bound, start, of.shape[0], body, [row_of(of)])


def _starts_at(bound: Bound, start: Tensor, opts: Any) -> None:
    """Bind an unbound loop variable to the range's start before the loop."""
    names, values = bound.names, list(bound.get())
    name = (opts or {}).get("iterate_names")
    if name in names and isinstance(values[names.index(name)], UNDEFINED):
        values[names.index(name)] = start
        bound.set(values)


def _for_rows(bound: Bound, rows: Tensor, body: Any) -> None:
    taken = MappedRows(rows, "for")
    growth = Growth(constant_folding.folded(taken.nodes[0]))
    body = growth.counting(body)
    symbol = handle(leaf(taken.avals[0], None))
    if taken.count == 0 and not any(map(empty, bound.get())):
        branch_captures.looped(bound, bound.get(), 0, body, taken.avals)
        return
    before = defined(bound, lambda: body(symbol), lambda: tensor(taken.count > 0), growth)

    def step(carry: list[Node], row: list[Node]) -> list[Tensor]:
        after = state.after([handle(n) for n in carry], lambda: body(handle(row[0])))
        check_same(carry, after, state.names)
        return after

    def as_op() -> list[Tensor]:
        last, _ = record_rows(step, [t.node for t in state.tensors], taken)
        return [handle(n) for n in last]

    def on_host() -> list[Tensor]:
        return loop_on_host(Count(tensor(taken.count, dtypes.int64)), state, lambda i: body(gather(rows, i)))

    with growth.in_loop():
        state = BoundState(bound, before)
        after = _op_or_host(bound, as_op, on_host)
    state.bind(after)


def _for_range(bound: Bound, bounds: DynamicRange, limit: Any, extra_test: Any, body: Any) -> None:
    start, end, delta = bounds.start, bounds.limit, bounds.delta
    if start.dtype.is_floating:
        count = cast.cast(ceil((end - start) / delta), dtypes.int64)
    else:
        ahead = select.where(delta > 0, (end - start + delta - 1) // delta, (start - end - delta - 1) // -delta)
        count = cast.cast(ahead, dtypes.int64)
    if limit is not None:
        count = minimum(count, cast.cast(tensor(limit), dtypes.int64))
    _counted(bound, lambda i: start + cast.cast(i, start.dtype) * delta, count, extra_test, body)


def _counted(bound: Bound, item: Any, count: Tensor, extra_test: Any, body: Any) -> None:
    """Record a loop over `item(0)`, `item(1)`, …, of at most `count` trips, while `extra_test` holds."""
    zero = tensor(0, dtypes.int64)
    symbol = handle(leaf(zero.node.aval, None))
    known = constant_folding.folded(count.node)
    most = None if known is None else int(known)
    growth = Growth(None if most is None or extra_test is not None else _numbers(item, most))
    body = growth.counting(body)
    before = defined(bound, lambda: body(item(symbol)), lambda: count > 0, growth)

    def condition(values: Any) -> Any:
        i, *tensors = values
        holds = i < count
        if extra_test is None:
            return holds
        state.bind(tensors)
        return compare.logical_and(holds, extra_test())

    def step(values: Any) -> list[Any]:
        i, *tensors = values
        return [i + 1, *state.after(tensors, lambda: body(item(i)))]

    def as_op() -> list[Tensor]:
        return loop.run_loop(condition, step, [zero, *state.tensors], most, ["the counter", *state.names])[1:]

    def on_host() -> list[Tensor]:
        trips = count if extra_test is None else select.where(extra_test(), count, zero)
        return loop_on_host(Count(trips), state, lambda i: body(item(i)), extra_test)

    with growth.in_loop():
        state = BoundState(bound, before)
        after = _op_or_host(bound, as_op, on_host)
    state.bind(after)


def _numbers(item: Any, count: int) -> np.ndarray | None:
    """Return the numbers of a loop over a range, if they are known."""
    begin, second = [constant_folding.folded(item(tensor(k, dtypes.int64)).node) for k in (0, 1)]
    if begin is None or second is None or begin.ndim:
        return None
    return begin + np.arange(count, dtype=begin.dtype) * (second - begin)
