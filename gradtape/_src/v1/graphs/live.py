"""Branches and loops whose results have shapes that depend on values: a graph runs them op by op, as eager code would."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from gradtape._src.autodiff.backward import Operation
from gradtape._src.autodiff.tape import GradientTape
from gradtape._src.autodiff.vectorized import VECTORIZED_CALL
from gradtape._src.control.bounded_scan import SCAN, WHILE
from gradtape._src.control.branch import CASE, IF
from gradtape._src.core import nest
from gradtape._src.core.aval import LARGE
from gradtape._src.core.op import Attributes, Op
from gradtape._src.core.program import CALLS, Node, Program, programs_in
from gradtape._src.core.tensor import handle, to_numpy
from gradtape._src.ops.array.joining import stack
from gradtape._src.ops.array.shape import zeros
from gradtape._src.v1.graphs.kinds import BY_VALUES, LATE


class NeedsEager(Exception):
    """What is to run has shapes that depend on values: it cannot be traced."""


class Several(list[Node]):
    """What an op gave that has several outputs."""


def is_open(program: Program) -> bool:
    """Return whether a Program cannot be compiled as it was recorded: extents are not known, or an op needs values."""
    known: bool | None = program.derived.get("open")
    if known is None:
        avals = [a for of in program.avals for a in (of if type(of) is tuple else (of,))]
        held = [inner for _, attrs, *_ in program.keys for inner in programs_in(attrs)]
        known = any(a.large for a in (*avals, *program.parameters)) or any(
            key[0] in BY_VALUES or key[0] is LATE for key in program.keys
        )
        known = program.derived["open"] = known or any(map(is_open, held))
    return known


def only_in_graphs(program: Program) -> bool:
    """Whether a Program has results that have shapes only when a graph runs it, though its parameters have shapes."""
    return is_open(program) and not any(a.large for a in program.parameters)


def _results(program: Program) -> list[Any]:
    return [program.aval_of(r) for r in program.outputs]


def of_one_shape(op: Op, attrs: Attributes, avals: Sequence[Any]) -> bool:
    """Whether all branches of an op give the same shapes, and a loop those that it takes."""
    if op is IF or op is CASE:
        first, *rest = attrs if op is IF else attrs[0]
        return all(_results(branch) == _results(first) for branch in rest)
    if op is WHILE:
        return _results(attrs[1]) == list(avals[attrs[2] :])
    if op is SCAN:
        _, consts, carry, *_ = attrs
        return _results(attrs[0])[:carry] == list(avals[1 + consts : 1 + consts + carry])
    return True


def gradient_of_call(call: Callable[[Sequence[Node]], Any]) -> Callable[..., list[Any]]:
    """The gradient of a call that was made when the graph ran: it is made again, under a tape."""

    def rule(op: Operation, *grads: Any) -> list[Any]:
        inputs = op.entry.inputs
        floating = [i for i, n in enumerate(inputs) if n.aval.inexact and op.needed[i] and inputs.index(n) == i]
        given = [i for i, d in enumerate(grads) if d is not None]
        with GradientTape() as tape:
            tape.watch([handle(inputs[i]) for i in floating])
            results = [r for r in nest.flatten(call(inputs), expand_composites=True) if r is not None]
        found = tape.gradient(
            [results[i] for i in given], [handle(inputs[i]) for i in floating], output_gradients=[grads[i] for i in given]
        )
        given_to = dict(zip(floating, found, strict=True))
        return [given_to.get(i) for i in range(len(inputs))]

    return rule


def in_python(replay: Any, op: Op, attrs: Attributes, inputs: Sequence[Node]) -> Several:
    """What a branch, a loop or a call gives; `replay` records each op that it comes to."""
    if op is IF:
        return Several(replay.inlined(attrs[0] if to_numpy(inputs[0]) else attrs[1], inputs[1:]))
    if op is CASE:
        (branches,), index = attrs, int(to_numpy(inputs[0]))
        return Several(replay.inlined(branches[index if 0 <= index < len(branches) else -1], inputs[1:]))
    if op is WHILE:
        return _while(replay, attrs, inputs)
    if op is SCAN:
        return _scan(replay, attrs, inputs)
    if op is VECTORIZED_CALL:
        return _vectorized(replay, attrs, inputs)
    if op in CALLS:
        return Several(replay.inlined(attrs[0], inputs))
    raise NotImplementedError(f"{op.type} has results whose shapes depend on values.")


def _while(replay: Any, attrs: Attributes, inputs: Sequence[Node]) -> Several:
    cond, body, consts, _, _, limit = attrs
    fixed, carried, trip = inputs[:consts], list(inputs[consts:]), 0
    while (limit is None or trip < limit) and to_numpy(replay.inlined(cond, [*fixed, *carried])[0]):
        carried, trip = replay.inlined(body, [*fixed, *carried]), trip + 1
    return Several(carried)


def _vectorized(replay: Any, attrs: Attributes, inputs: Sequence[Node]) -> Several:
    program, mapped, _ = attrs
    sliced = [n for n, m in zip(inputs, mapped, strict=True) if m]
    rows = []
    for at in range(sliced[0].aval.shape[0]):
        row = iter(replay.noted(sliced, [handle(x)[at].node for x in sliced]))
        rows.append(replay.inlined(program, [next(row) if m else n for n, m in zip(inputs, mapped, strict=True)]))
    columns = [[handle(n) for n in column] for column in zip(*rows, strict=True)]
    return Several([replay.noted([handle_.node for handle_ in column], [stack(column).node])[0] for column in columns])


def _scan(replay: Any, attrs: Attributes, inputs: Sequence[Node]) -> Several:
    body, consts, carry, _, reverse, dynamic, saved = attrs
    n, *rest = inputs
    fixed, carried, xs = rest[:consts], rest[consts : consts + carry], rest[consts + carry :]
    count = int(to_numpy(n)) if dynamic or not xs else int(xs[0].aval.shape[0])
    rows: list[list[Node]] = []
    taken = len(body.outputs) - saved
    for at in reversed(range(count)) if reverse else range(count):
        row = replay.noted(xs, [handle(x)[at].node for x in xs])
        results = replay.inlined(body, [*fixed, *carried, *row])
        carried = results[:carry]
        rows.append(results[carry:taken])
    if reverse:
        rows.reverse()
    if not rows:
        avals = [body.aval_of(r) for r in body.outputs[carry:taken]]
        return Several([*carried, *[zeros((0, *[0 if e >= LARGE else e for e in a.shape]), a.type).node for a in avals]])
    columns = zip(*rows, strict=True)
    return Several([*carried, *[replay.noted(column, [stack([handle(y) for y in column]).node])[0] for column in columns]])
