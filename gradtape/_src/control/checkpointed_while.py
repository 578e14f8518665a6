"""The loop with a condition, `While`, and its gradient, which is a `Scan`.

`While`: (constants…, carry…) → (carry…, trips, stride, checkpoints…). It keeps checkpoints of its carry, and doubles their
distance each time they are full. Its gradient is a Scan over the checkpoints, which runs each part of the loop again, a long part
by blocks. See Griewank and Walther, "Algorithm 799: revolve" (2000). The stride doubles as in Stumm and Walther, "New algorithms
for optimal online checkpointing" (2010), section 2. If no gradient is asked for, no checkpoints are kept.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from gradtape._src.autodiff.backward import Operation
from gradtape._src.control.bounded_scan import (
    BLOCKS,
    ROOM,
    SCAN,
    TRIPS,
    Scan,
    leading_back,
    record_scan,
    reverse_scan,
    with_residuals,
)
from gradtape._src.control.branch import IF, If, only_looked_at
from gradtape._src.control.programs import narrowed, selected
from gradtape._src.core.declarations.define import gradient
from gradtape._src.core.engine import engine, tracing
from gradtape._src.core.platform.arrays import jnp, lax
from gradtape._src.core.programs import guards
from gradtape._src.core.programs.op import Attributes, Op, define
from gradtape._src.core.programs.program import Node, Program, read_by
from gradtape._src.core.programs.structured import LOOP, HeldProgram, Interpreter, Pruned, StructuredOp
from gradtape._src.core.tensors.convert import tensor
from gradtape._src.core.tensors.tensor import EagerTensor, Tensor
from gradtape._src.core.values.aval import Aval, aval, stacked
from gradtape._src.ops.array.creation import zeros_of
from gradtape._src.ops.array.select import where
from gradtape._src.ops.math.arithmetic import minimum

MOST_CHECKPOINTS = ROOM - 1  # the last row collects values written between checkpoints
FEWEST_CHECKPOINTS = 64
CHECKPOINT_BYTES = 1 << 28
SURE_TO_END = 1 << 10  # trips; a longer loop can be interrupted
MOST_TRIPS = 1 << 24  # loops up to this length have a gradient; each level of blocks compiles one more copy of the body


def _while(
    *inputs: Any, cond: Program, body: Program, consts: int, carry: int, capacity: int, limit: int | None
) -> tuple[Any, ...]:
    fixed, first = inputs[:consts], jnp.zeros((), TRIPS)
    start = tuple(inputs[consts:]), guards.begin(cond, body)

    def goes_on(trip: Any, state: tuple[Any, Any]) -> Any:
        carried, flag = state
        (holds,) = cond.evaluate(*fixed, *carried) if flag is None else guards.run(cond, flag, *fixed, *carried)[0]
        holds = holds if limit is None else holds & (trip < limit)
        return holds if flag is None else holds & ~flag  # a failed check ends the loop

    def trip_of(state: tuple[Any, Any]) -> tuple[Any, Any]:
        carried, flag = state
        _, flag = guards.run(cond, flag, *fixed, *carried) if cond.guarded else (None, flag)
        return guards.run(body, flag, *fixed, *carried)

    def results_of(state: tuple[Any, Any]) -> Any:
        carried, flag = state
        guards.note(guards.run(cond, flag, *fixed, *carried)[1] if cond.guarded else flag)
        return carried

    if not capacity:
        _, last = lax.while_loop(lambda now: goes_on(*now), lambda now: (now[0] + 1, trip_of(now[1])), (first, start))
        return tuple(results_of(last))

    full = capacity - 1

    def fill(state: tuple[Any, ...]) -> tuple[Any, ...]:
        """Run trips until the condition fails or the checkpoints are full."""
        stride = state[1]

        def step(inner: tuple[Any, ...]) -> tuple[Any, ...]:
            """Run one trip. The row of a checkpoint is overwritten until its trip is reached."""
            trip, now, kept = inner
            row = (trip + stride - 1) // stride
            kept = tuple([lax.dynamic_update_index_in_dim(b, c, row, 0) for b, c in zip(kept, now[0], strict=True)])
            return trip + 1, trip_of(now), kept

        trip, now, kept = lax.while_loop(
            lambda inner: goes_on(inner[0], inner[1]) & (inner[0] < stride * full), step, (state[0], state[2], state[3])
        )
        return trip, stride, now, kept

    def halve(state: tuple[Any, ...]) -> tuple[Any, ...]:
        trip, stride, now, kept = state
        halved = tuple([jnp.concatenate([b[::2], jnp.zeros_like(b[: capacity - len(b[::2])])]) for b in kept])
        return trip, stride * 2, now, halved

    def go_on(state: tuple[Any, ...]) -> tuple[Any, ...]:
        """Run on, after halving the checkpoints if they are full. The body stands here alone, as XLA compiles each copy."""
        return fill(lax.cond(state[0] > 0, halve, lambda state: state, state))

    empty = tuple([jnp.zeros((capacity, *c.shape), c.dtype) for c in start[0]])
    state = (first, jnp.ones((), TRIPS), start, empty)
    trip, stride, now, kept = lax.while_loop(lambda s: goes_on(s[0], s[2]), go_on, state)
    return (*results_of(now), trip, stride, *kept)


def _while_avals(
    *inputs: Aval, cond: Program, body: Program, consts: int, carry: int, capacity: int, limit: int | None
) -> tuple[Aval, ...]:
    number = aval((), TRIPS)
    carried = inputs[consts:]
    return (*carried, number, number, *[stacked(a, capacity) for a in carried])


class While(NamedTuple):
    """The attributes of a loop with a condition, which makes at most `limit` trips.

    There are `capacity` rows for checkpoints; the last one collects values written between checkpoints. With 0 rows the kernel
    gives only the carry.
    """

    cond: Program
    body: Program
    consts: int
    carry: int
    capacity: int
    limit: int | None

    def bodies(self) -> tuple[HeldProgram, ...]:
        """Return the condition and the body, which take the constants and the carry."""
        carried = {self.consts + k: k for k in range(self.carry)}
        takes = range(self.consts + self.carry)
        return (
            HeldProgram(self.cond, takes, {}, carried=carried),
            HeldProgram(self.body, takes, {k: k for k in range(self.carry)}, carried=carried),
        )


def _run_while(interpreter: Interpreter, loop: While, inputs: Sequence[Any]) -> list[Any]:
    fixed, carried = inputs[: loop.consts], tuple(inputs[loop.consts :])
    trip, stride = 0, 1
    kept: list[tuple[Any, ...]] = []
    while (loop.limit is None or trip < loop.limit) and interpreter.holds(loop.cond, [*fixed, *carried]):
        if trip == stride * (loop.capacity - 1):
            kept, stride = kept[::2], stride * 2
        if interpreter.residuals and trip % stride == 0:
            kept.append(carried)
        carried = tuple(interpreter.call(loop.body, [*fixed, *carried]))
        trip += 1
    if not interpreter.residuals:
        return list(carried)
    columns: Any = zip(*kept, strict=True) if kept else [()] * loop.carry
    avals = loop.body.parameters[loop.consts : loop.consts + loop.carry]
    checkpoints = [interpreter.stacked(column, of, loop.capacity) for column, of in zip(columns, avals, strict=True)]
    return [*carried, interpreter.constant(trip), interpreter.constant(stride), *checkpoints]


def _while_runs(loop: While, trips: Any) -> list[tuple[Program, int]]:
    if trips is None:
        trips = 1 if loop.limit is None else loop.limit
    return [(loop.cond, trips + 1), (loop.body, trips)]


def _pruned_while(loop: While, live: Sequence[int], normal: Callable[..., Program]) -> Pruned:
    consts, carry = loop.consts, loop.carry
    test = normal(loop.cond)
    carried = {i if i < carry else i - carry - 2 for i in live if i < carry or i >= carry + 2}
    carried |= {i - consts for i in read_by(test) if i >= consts}
    while True:
        body = normal(loop.body, tuple(sorted(carried)))
        more = {i - consts for i in read_by(body) if i >= consts}
        if more <= carried:
            break
        carried |= more
    kept = sorted(read_by(test) | read_by(body) | {consts + i for i in carried})
    outputs = [*sorted(carried), carry, carry + 1, *[carry + 2 + i for i in sorted(carried)]]
    attrs = loop._replace(
        cond=narrowed(test, kept), body=narrowed(body, kept), consts=sum(i < consts for i in kept), carry=len(carried)
    )
    return attrs, kept, outputs


WHILE = define(
    StructuredOp(
        "While", _while, While, kind=LOOP, bodies=While.bodies, run=_run_while, pruned=_pruned_while,
        lean=lambda loop, live: loop if max(live, default=-1) >= loop.carry else loop._replace(capacity=0), runs=_while_runs,
        counted_by=lambda loop: loop.carry, infer=_while_avals, saves="inputs y", takes_none=True,
        endless=lambda attrs: attrs[5] is None or attrs[5] > SURE_TO_END, kept=lambda attrs: attrs[3], default_name="while",
    )
)  # fmt: skip


def record_while(
    cond: Program, body: Program, consts: Sequence[Node], carry: Sequence[Node], limit: int | None = None
) -> list[Node]:
    """Record a loop: while `cond` (consts…, carry…) gives True, `body` gives a new carry; at most `limit` times.

    Returns the nodes of the last carry.
    """
    loop = While(cond, body, len(consts), len(carry), _capacity(body, [n.aval for n in carry], limit), limit)
    return engine.elements(engine.record(WHILE, (*consts, *carry), loop))[: len(carry)]


def _capacity(body: Program, carry: Sequence[Aval], limit: int | None) -> int:
    """Return the number of rows for a loop's checkpoints."""
    size = sum(a.bytes for a in carry) + body.bytes
    capacity = min(MOST_CHECKPOINTS, max(FEWEST_CHECKPOINTS, CHECKPOINT_BYTES // max(size, 1)))
    if limit is not None:
        capacity = min(capacity, max(limit, 1))
    return max(capacity + capacity % 2, 2) + 1


def for_other_shapes(op: Op, attrs: Attributes, inputs: Sequence[Aval]) -> Attributes:
    """Return the attributes of a loop whose Programs were recorded again for other shapes, with new residuals and checkpoints."""
    if op is SCAN and (scan := Scan(*attrs)).saved:
        body, saved = with_residuals(selected(scan.body, range(len(scan.body.outputs) - scan.saved)), scan.consts, scan.carry)
        return scan._replace(body=body, saved=saved)
    if op is WHILE:
        loop = While(*attrs)
        return loop._replace(capacity=_capacity(loop.body, inputs[loop.consts :], loop.limit))
    return attrs


@gradient(WHILE)
def _while_gradient(op: Operation, *grads: Any) -> list[Tensor | None]:
    """Return the gradient: a Scan from the last checkpoint to the first, which runs each part of the loop again."""
    entry = op.entry
    _, whole, consts, carry, capacity, limit = While(*entry.node.attrs)
    body = tracing.without_effects(whole)
    fixed, start = entry.inputs[:consts], entry.inputs[consts:]
    if not all(a.may_be(n.aval) for a, n in zip(body.results, start, strict=True)):  # a session runs the loop trip by trip
        only_looked_at("a loop whose variables change their shapes")
        return [zeros_of(n) if need else None for n, need in zip(entry.inputs, op.needed, strict=True)]
    outputs = [t.node for t in op.outputs]
    trips, stride, kept = outputs[carry], outputs[carry + 1], outputs[carry + 2 :]
    kept_grads = grads[carry + 2 :]
    second = any(d is not None for d in kept_grads)

    def run_segment(*parts: Node) -> list[Node]:
        body_consts, (all_trips, far), carried = parts[:consts], parts[consts : consts + 2], parts[consts + 2 : -1]
        now = minimum(EagerTensor(all_trips) - EagerTensor(parts[-1]) * EagerTensor(far), EagerTensor(far))
        run = _run_again(body, body_consts, carried, now.node, far, capacity, limit)
        return [*run, *(carried if second else [])]

    segment = tracing.program_of(run_segment, [*[n.aval for n in (*fixed, trips, stride, *start)], aval((), TRIPS)])
    segments = (EagerTensor(trips) + EagerTensor(stride) - 1) // EagerTensor(stride)
    numbers = engine.constant(np.arange(capacity, dtype=TRIPS))
    needed = [i if i < consts else i + 2 for i, need in enumerate(op.needed) if need]
    given = [*grads[:carry], *(kept_grads if second else [])]
    results_of = reverse_scan(
        segment, None, segments.node, ([*fixed, trips, stride], start, [numbers]), (), given, needed, capacity, False, kept, body
    )
    cotangents = [*results_of[:consts], *results_of[consts + 2 : consts + 2 + carry]]
    return leading_back(op, body, cotangents, op.needed, entry.inputs)


def _run_again(
    body: Program, consts: Sequence[Node], carry: Sequence[Node], trips: Node, stride: Node, capacity: int, limit: int | None
) -> list[Node]:
    """Run the loop again from one checkpoint to the next: one trip if all were kept, else a Scan of `trips`."""
    if limit is not None and limit < capacity:
        return tracing.call(body, (*consts, *carry))
    count = len(consts) + len(carry)
    room, inputs = _room(capacity, limit), (*consts, *carry, trips, stride)

    def run_several(*parts: Node) -> list[Node]:
        run = record_scan(body, parts[: len(consts)], parts[len(consts) : count], [], room, trips=parts[count])
        return [_unless_beyond(r, parts[-1], room) if r.aval.inexact else r for r in run[: len(carry)]]

    avals = [n.aval for n in inputs]
    several = tracing.program_of(run_several, avals)
    once = tracing.program_of(lambda *parts: tracing.inline(body, parts[:count]), avals)
    choice = EagerTensor(stride) == tensor(1, "int64")
    return engine.elements(engine.record(IF, (choice.node, *inputs), If(once, several)))


def _room(capacity: int, limit: int | None) -> int:
    """Return the number of trips in a part of the loop for which blocks are made, so that MOST_TRIPS or the limit is covered."""
    room = capacity
    while (capacity - 1) << (room.bit_length() - 1) < min(MOST_TRIPS, limit or MOST_TRIPS):  # strides are powers of two
        room *= BLOCKS
    return room


def _unless_beyond(value: Node, stride: Node, room: int) -> Node:
    """Return `value`, or NaN if a part of the loop has more than `room` trips."""
    dtype = value.aval.type
    factor = where(EagerTensor(stride) > room, tensor(float("nan"), dtype), tensor(1.0, dtype))
    result: Node = (EagerTensor(value) * factor).node
    return result
