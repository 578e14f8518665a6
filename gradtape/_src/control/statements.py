"""`if`, `while` and `for` in transformed code: Python's statements, or ops if a tensor decides."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from gradtape._src.control import branch, branch_captures, loop
from gradtape._src.control.bound_names import (
    UNDEFINED,
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
from gradtape._src.core.tensors.tensor import Tensor, extents_of, handle
from gradtape._src.core.values import dtypes
from gradtape._src.core.values.aval import Aval, aval
from gradtape._src.ops.array import cast, select, shape as array
from gradtape._src.ops.array.gather import gather
from gradtape._src.ops.math import compare
from gradtape._src.ops.math.arithmetic import minimum
from gradtape._src.ops.math.compare import logical_not
from gradtape._src.ops.math.rounding import ceil


class Attempt:
    """A context for recording a statement as one op; `failed` if it takes elements, so that the host must run it."""

    def __init__(self, get_state: Any, set_state: Any) -> None:
        self.failed = False
        self._before, self._set_state = get_state(), set_state
        scope: Any = engine.local.trace.scope
        self._inside = scope.inside if loops_on_host(scope) else None
        self._count = 0 if self._inside is None else len(self._inside)

    def __enter__(self) -> Attempt:
        return self

    def __exit__(self, kind: Any, error: Any, _: Any) -> bool:
        taped = any(t() is not None for t in engine.local.tapes)
        if not isinstance(error, (TakesElement, ThroughEagerCode)) or self._inside is None or taped:
            return False
        del self._inside[self._count :]
        self._set_state(self._before)
        self.failed = True
        return True


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
    if not symbolic(condition):
        taken, other = (body, orelse) if condition else (orelse, body)
        if branch_captures.counts(condition):
            branch_captures.switched(taken, other, get_state, set_state, nouts)
        else:
            taken()
        return
    pred = branch._scalar_bool(condition, "The condition of `if`").node
    before = get_state()
    with Attempt(get_state, set_state) as attempt:
        first, second = [_Branch(run, get_state, set_state, before, nouts) for run in (body, orelse)]
    if attempt.failed:
        if_on_host(condition, body, orelse, get_state, set_state, symbol_names[:nouts])
        return
    merged = _merge(first, second, symbol_names, condition)
    results = iter(branch.join(pred, (first.body, second.body), branch.IF, ("the main branch", "the else branch")))
    after = [m.fill(results) if isinstance(m, ResultStructure) else m for m in merged]
    set_state((*after, *before[nouts:]))


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

    def __init__(self, run: Any, get_state: Any, set_state: Any, before: Any, nouts: int) -> None:
        self.leaves: list[list[Any]] = []
        self.specs: list[Any] = []

        def branch_results() -> list[Any]:
            set_state(before)
            run()
            flat = []
            for value in get_state()[:nouts]:
                leaves, spec = flatten(value)
                self.leaves.append(leaves)
                self.specs.append(spec)
                flat += [tensor(x) for x in leaves if can_be_result(x)]
            return flat

        self.body = draft(branch_results, (), Scope(nested=True))
        set_state(before)


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
    scope = engine.local.trace.scope
    start = None if scope is not None else get_state()
    rules: Rules | None = None
    trips = 0
    while True:
        before = get_state()
        done = _done(scope)
        holds = test()
        if symbolic(holds):
            break
        if not trips:
            rules = rules_of(holds, get_state, symbol_names)
        if not holds:
            if rules is not None:
                rules.ended()
            if branch_captures.counts(holds):
                branch_captures.looped(start, trips, body, (), get_state, set_state)
            return
        body()
        trips += 1
        if rules is not None:
            rules.made_a_trip()
    set_state(before)
    first = None if _done(scope) == done else holds
    _staged_while(test, body, get_state, set_state, symbol_names, opts, first)


def _done(scope: Any) -> Any:
    """Return the variables that the function under trace has assigned so far, and the number of elements taken."""
    return (dict(scope.after), scope.elements and len(scope.elements.takes)) if isinstance(scope, Scope) else None


def _staged_while(test: Any, body: Any, get_state: Any, set_state: Any, names: Sequence[str], opts: Any, first: Any) -> None:
    """Record a loop on tensors; `first` is the condition's first value if evaluating it has assigned or taken something."""
    limit = (opts or {}).get("maximum_iterations")
    state = BoundState(defined(get_state, set_state, body, names, test), names)

    def condition(tensors: Any) -> Any:
        set_state(state.pack(tensors))
        return test()

    def step(tensors: Any) -> list[Tensor]:
        set_state(state.pack(tensors))
        body()
        return state.flat(get_state())

    with Attempt(get_state, set_state) as attempt:
        if first is None:
            after = loop.run_loop(condition, step, state.tensors, limit, state.names)
        else:
            after = loop.run_assigning_loop(condition, step, state.tensors, first, limit, state.names)
    if attempt.failed:
        holds = condition(state.tensors) if first is None else first
        after = while_on_host(holds, limit, state, lambda _: body(), test, get_state, set_state)
    set_state(state.pack(after))


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
    if not is_tensor(iterated) and hasattr(iterated, "element_spec") and engine.local.trace.scope is not None:
        for_dataset(iterated, extra_test, body, get_state, set_state, symbol_names)
        return
    limit = (opts or {}).get("maximum_iterations")
    if isinstance(iterated, DynamicRange):
        _starts_at(iterated.start, get_state, set_state, symbol_names, opts)
        _for_range(iterated, limit, extra_test, body, get_state, set_state, symbol_names)
    elif symbolic(iterated):
        rows = tensor(iterated)
        if not rows.ndim:
            raise TypeError("Cannot iterate over a scalar tensor: loop over tf.range(n).")
        if limit is not None:
            rows = rows[: int(limit)]
        if extra_test is not None:
            _for_rows_until(rows, extra_test, body, get_state, set_state, symbol_names)
        else:
            _for_rows(rows, body, get_state, set_state, symbol_names)
    elif branch_captures.counts(iterated):
        start, rows = get_state(), tensor(iterated)
        for_in_python(iterated, extra_test, body, rules_of(iterated, get_state, symbol_names))
        row = aval(rows.node.aval.shape[1:], rows.node.aval.dtype)
        branch_captures.looped(start, extents_of(rows)[0], body, [row], get_state, set_state)
    else:
        for_in_python(iterated, extra_test, body, rules_of(iterated, get_state, symbol_names))


def _starts_at(start: Tensor, get_state: Any, set_state: Any, names: Sequence[str], opts: Any) -> None:
    """Bind an unbound loop variable to the range's start before the loop."""
    values = list(get_state())
    name = (opts or {}).get("iterate_names")
    if name in names and isinstance(values[names.index(name)], UNDEFINED):
        values[names.index(name)] = start
        set_state(values)


def _for_rows(rows: Tensor, body: Any, get_state: Any, set_state: Any, names: Sequence[str]) -> None:
    taken = MappedRows(rows, "for")
    growth = Growth(constant_folding.folded(taken.nodes[0]))
    body = growth.counting(body)
    symbol = handle(leaf(taken.avals[0], None))
    if taken.count == 0 and not any(map(empty, get_state())):
        branch_captures.looped(get_state(), 0, body, taken.avals, get_state, set_state)
        return
    before = defined(get_state, set_state, lambda: body(symbol), names, lambda: tensor(taken.count > 0), growth)

    def step(carry: list[Node], row: list[Node]) -> list[Tensor]:
        set_state(state.pack([handle(n) for n in carry]))
        body(handle(row[0]))
        after = state.flat(get_state())
        check_same(carry, after, state.names)
        return after

    with growth.in_loop():
        state = BoundState(before, names)
        with Attempt(get_state, set_state) as attempt:
            last, _ = record_rows(step, [t.node for t in state.tensors], taken)
            after = [handle(n) for n in last]
        if attempt.failed:
            trips = Count(tensor(taken.count, dtypes.int64))
            after = loop_on_host(trips, state, lambda i: body(gather(rows, i)), None, get_state, set_state)
    set_state(state.pack(after))


def _for_rows_until(rows: Tensor, extra_test: Any, body: Any, get_state: Any, set_state: Any, names: Sequence[str]) -> None:
    count = extents_of(rows)[0]
    if count == 0:
        _for_rows(rows, body, get_state, set_state, names)
        return
    _counted(lambda i: gather(rows, i), tensor(count, "int64"), extra_test, body, get_state, set_state, names)


def _for_range(
    bounds: DynamicRange, limit: Any, extra_test: Any, body: Any, get_state: Any, set_state: Any, names: Sequence[str]
) -> None:
    start, end, delta = bounds.start, bounds.limit, bounds.delta
    if start.dtype.is_floating:
        count = cast.cast(ceil((end - start) / delta), dtypes.int64)
    else:
        ahead = select.where(delta > 0, (end - start + delta - 1) // delta, (start - end - delta - 1) // -delta)
        count = cast.cast(ahead, dtypes.int64)
    if limit is not None:
        count = minimum(count, cast.cast(tensor(limit), dtypes.int64))
    _counted(lambda i: start + cast.cast(i, start.dtype) * delta, count, extra_test, body, get_state, set_state, names)


def _counted(item: Any, count: Tensor, extra_test: Any, body: Any, get_state: Any, set_state: Any, names: Sequence[str]) -> None:
    """Record a loop over `item(0)`, `item(1)`, …, of at most `count` trips, while `extra_test` holds."""
    zero = tensor(0, dtypes.int64)
    symbol = handle(leaf(zero.node.aval, None))
    known = constant_folding.folded(count.node)
    most = None if known is None else int(known)
    growth = Growth(None if most is None or extra_test is not None else _numbers(item, most))
    body = growth.counting(body)
    before = defined(get_state, set_state, lambda: body(item(symbol)), names, lambda: count > 0, growth)

    def condition(values: Any) -> Any:
        i, *tensors = values
        holds = i < count
        if extra_test is None:
            return holds
        set_state(state.pack(tensors))
        return compare.logical_and(holds, extra_test())

    def step(values: Any) -> list[Any]:
        i, *tensors = values
        set_state(state.pack(tensors))
        body(item(i))
        return [i + 1, *state.flat(get_state())]

    with growth.in_loop():
        state = BoundState(before, names)
        with Attempt(get_state, set_state) as attempt:
            _, *after = loop.run_loop(condition, step, [zero, *state.tensors], most, ["the counter", *state.names])
        if attempt.failed:
            trips = count if extra_test is None else select.where(extra_test(), count, zero)
            after = loop_on_host(Count(trips), state, lambda i: body(item(i)), extra_test, get_state, set_state)
    set_state(state.pack(after))


def _numbers(item: Any, count: int) -> np.ndarray | None:
    """Return the numbers of a loop over a range, if they are known."""
    begin, second = [constant_folding.folded(item(tensor(k, dtypes.int64)).node) for k in (0, 1)]
    if begin is None or second is None or begin.ndim:
        return None
    return begin + np.arange(count, dtype=begin.dtype) * (second - begin)
