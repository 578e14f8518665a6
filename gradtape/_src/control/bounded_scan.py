"""The primitive of loops: a body that runs a known number of times over carried values, and its reverse, which is one again.

`Scan`: (n, constants…, carry…, xs…) → (carry…, ys…, residuals…). The residuals are what the gradient of the body needs of
each trip; where nobody asks for a gradient, XLA removes them. The gradient is a Scan the other way round, so any order
closes. `While` runs until a condition fails and keeps checkpoints of its carry, twice as far apart each time they are
full; its gradient is a Scan over the checkpoints, each of which runs its part of the loop again (Griewank and Walther,
"Algorithm 799: revolve" (2000), describe such schemes; here the stride doubles as in Stumm and Walther, "New algorithms
for optimal online checkpointing" (2010), section 2).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from gradtape._src.autodiff.backward import FORWARD, Operation, vjp_program
from gradtape._src.autodiff.products import products_of, summed_products
from gradtape._src.control.branch import IF, If
from gradtape._src.control.programs import linearized, narrowed, rewired, selected
from gradtape._src.core import engine, execution, tracing
from gradtape._src.core.arrays import jnp, lax
from gradtape._src.core.aval import Aval, aval
from gradtape._src.core.convert import tensor
from gradtape._src.core.define import gradient
from gradtape._src.core.errors import InvalidArgumentError
from gradtape._src.core.op import Attributes, Op, define
from gradtape._src.core.program import Node, Program, leaf, read_by
from gradtape._src.core.structured import LOOP, Body, Interpreter, Pruned, StructuredOp, arity
from gradtape._src.core.tensor import EagerTensor, Tensor, handle
from gradtape._src.ops.array.creation import zeros_of
from gradtape._src.ops.array.select import where
from gradtape._src.ops.array.shape import identity_n, zeros
from gradtape._src.ops.math.arithmetic import minimum

TRIPS = np.dtype(np.int64)
MOST_CHECKPOINTS = 1024
FEWEST_CHECKPOINTS = 64
CHECKPOINT_BYTES = 1 << 28
NO_GRADIENT = (LookupError, InvalidArgumentError)  # of an op at all, or in this dtype

# ---------------------------------------------------------------------------------------------------------------------
# Scan


def _split(inputs: Sequence[Any], consts: int, carry: int) -> tuple[Any, tuple[Any, ...], tuple[Any, ...], tuple[Any, ...]]:
    n, *rest = inputs
    return n, tuple(rest[:consts]), tuple(rest[consts : consts + carry]), tuple(rest[consts + carry :])


def _scan(
    *inputs: Any, body: Program, consts: int, carry: int, length: int, reverse: bool, dynamic: bool, saved: int
) -> tuple[Any, ...]:
    n, fixed, start, xs = _split(inputs, consts, carry)

    def step(carried: tuple[Any, ...], x: tuple[Any, ...]) -> tuple[Any, Any]:
        results = body.evaluate(*fixed, *carried, *x)
        return tuple(results[:carry]), tuple(results[carry:])

    if not dynamic:
        final, ys = lax.scan(step, start, xs, length=length, reverse=reverse)
        return (*final, *ys)
    outputs = [body.aval_of(r) for r in body.outputs[carry:]]
    empty = tuple([jnp.zeros((length, *a.shape), a.dtype) for a in outputs])

    def trip(i: Any, state: tuple[Any, Any]) -> tuple[Any, Any]:
        carried, ys = state
        at = n - 1 - i if reverse else i
        carried, y = step(carried, tuple([lax.dynamic_index_in_dim(x, at, keepdims=False) for x in xs]))
        return carried, tuple([lax.dynamic_update_index_in_dim(b, part, at, 0) for b, part in zip(ys, y, strict=True)])

    final, ys = lax.fori_loop(jnp.zeros((), TRIPS), n, trip, (start, empty))
    return (*final, *ys)


def _scan_avals(
    *inputs: Aval, body: Program, consts: int, carry: int, length: int, reverse: bool, dynamic: bool, saved: int
) -> tuple[Aval, ...]:
    results = [body.aval_of(r) for r in body.outputs]
    return (*results[:carry], *[aval((length, *a.shape), a.dtype) for a in results[carry:]])


class Scan(NamedTuple):
    """The attributes of a loop of known length. `dynamic`: it makes n trips, in room for `length` of them.

    The last `saved` outputs of `body` are residuals.
    """

    body: Program
    consts: int
    carry: int
    length: int
    reverse: bool
    dynamic: bool
    saved: int

    def split(self, inputs: Sequence[Any]) -> tuple[Any, tuple[Any, ...], tuple[Any, ...], tuple[Any, ...]]:
        """Return the number of trips, the constants, the carry and the xs."""
        return _split(inputs, self.consts, self.carry)

    def rows(self, avals: Sequence[Aval]) -> int | None:
        """Return how many rows the xs have, from the Avals of the inputs; None if there are none."""
        xs = avals[1 + self.consts + self.carry :]
        return xs[0].shape[0] if xs else None

    def bodies(self) -> tuple[Body, ...]:
        """Return its one body, which takes the constants, the carry, and rows of the xs."""
        first, count = self.consts, arity(self.body)
        gives = {k: k for k in range(len(self.body.outputs))}
        carried = {first + k: k for k in range(self.carry)}
        return (Body(self.body, range(1, 1 + count), gives, range(first + self.carry, count), carried),)


def _run_scan(interpreter: Interpreter, scan: Scan, inputs: Sequence[Any]) -> list[Any]:
    n, fixed, carried, xs = scan.split(inputs)
    trips = int(interpreter.number(n)) if scan.dynamic or not xs else interpreter.extent(xs[0])
    wanted = len(scan.body.outputs) - (0 if interpreter.residuals else scan.saved)
    rows = []
    for at in reversed(range(trips)) if scan.reverse else range(trips):
        row = min(at, scan.length - 1)  # trips beyond the room count for nothing: their results are made NaN
        results = interpreter.call(scan.body, [*fixed, *carried, *[interpreter.row(x, row) for x in xs]])
        carried = tuple(results[: scan.carry])
        rows.append(results[scan.carry : wanted])
    if scan.reverse:
        rows.reverse()
    avals = [scan.body.aval_of(r) for r in scan.body.outputs[scan.carry : wanted]]
    columns: Any = zip(*rows, strict=True) if rows else [()] * len(avals)
    return [
        *carried,
        *[interpreter.stacked(column[: scan.length], of, scan.length) for column, of in zip(columns, avals, strict=True)],
    ]


def _pruned_scan(scan: Scan, live: Sequence[int], normal: Callable[..., Program]) -> Pruned:
    consts, carry = scan.consts, scan.carry
    carried = {i for i in live if i < carry}
    ys = [i for i in live if i >= carry]
    while True:
        body = normal(scan.body, (*sorted(carried), *ys))
        reads = read_by(body)
        more = {i - consts for i in reads if consts <= i < consts + carry}
        if more <= carried:
            break
        carried |= more
    kept = sorted(reads | {consts + i for i in carried})
    attrs = scan._replace(body=narrowed(body, kept), consts=sum(i < consts for i in kept), carry=len(carried), saved=0)
    return attrs, [0, *[1 + i for i in kept]], [*sorted(carried), *ys]


SCAN = define(
    StructuredOp(
        "Scan",
        _scan,
        Scan,
        kind=LOOP,
        bodies=Scan.bodies,
        run=_run_scan,
        pruned=_pruned_scan,
        runs=lambda scan, trips: [(scan.body, scan.length if trips is None else trips)],
        decided_by=lambda scan: 0 if scan.dynamic else None,
        infer=_scan_avals,
        saves="inputs y",
        takes_none=True,
        kept=lambda attrs: attrs[2] if attrs[5] else len(attrs[0].outputs),
    )
)


def record_scan(
    body: Program,
    consts: Sequence[Node],
    carry: Sequence[Node],
    xs: Sequence[Node],
    length: int,
    *,
    reverse: bool = False,
    trips: Node | None = None,
    again: bool = False,
) -> list[Node]:
    """Record `length` runs of `body`: (consts…, carry…, x…) → (carry…, y…); `trips` of them if that is given.

    Returns the nodes of the last carry and of the stacked ys; the residuals come after those. There are none where no tape
    records, and of a body with effects; but there are where it is run `again`, for them alone and without its effects.
    """
    taped = bool(engine.local.tapes) or engine.local.trace.scope is not None  # what a function is called in is not known
    saves = again or (taped and not body.effects)
    whole, saved = _with_residuals(body, len(consts), len(carry)) if saves else (body, 0)
    n = engine.constant(np.array(length, TRIPS)) if trips is None else trips
    attrs = Scan(whole, len(consts), len(carry), length, reverse, trips is not None, saved)
    return engine.elements(engine.record(SCAN, (n, *consts, *carry, *xs), attrs))


def _with_residuals(body: Program, consts: int, carry: int) -> tuple[Program, int]:
    """Return the body with its residuals as further outputs, and how many these are."""
    split = _linear_body(body, consts, carry)
    if split is None:
        return body, 0
    whole = split[0]
    if FORWARD in body.derived:
        whole.derived[FORWARD] = body.derived[FORWARD]
    return whole, len(whole.outputs) - len(body.outputs)


def _without_effects(body: Program) -> Program:
    """Return a body for a gradient that runs it again: its effects happened in the forward pass."""
    plain = tracing.without_effects(body) if body.effects else body
    if FORWARD in body.derived:
        plain.derived[FORWARD] = body.derived[FORWARD]
    return plain


def for_other_shapes(op: Op, attrs: Attributes, inputs: Sequence[Aval]) -> Attributes:
    """Return the attributes of a loop whose Programs were recorded anew: residuals and checkpoints go by the shapes."""
    if op is SCAN and (scan := Scan(*attrs)).saved:
        body, saved = _with_residuals(selected(scan.body, range(len(scan.body.outputs) - scan.saved)), scan.consts, scan.carry)
        return scan._replace(body=body, saved=saved)
    if op is WHILE:
        loop = While(*attrs)
        return loop._replace(capacity=_capacity(loop.body, inputs[loop.consts :], loop.limit))
    return attrs


def _inexact(program: Program) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Return the positions of the floating outputs and parameters."""
    count = len(program.parameters) - len(program.constants)
    outputs = tuple([i for i, r in enumerate(program.outputs) if program.aval_of(r).inexact])
    return outputs, tuple([i for i in range(count) if program.parameters[i].inexact])


def _linear_body(body: Program, consts: int, carry: int) -> tuple[Program, Program, list[int], tuple[int | None, ...]] | None:
    """Return `linearized(body)` and the positions of the cotangents, kept with the body; None if an op in it has no gradient, or
    none in its dtype.
    """
    key = ("linear", consts, carry)
    if key not in body.derived:
        given, needed = _inexact(body)
        try:
            derived, where = vjp_program(body, given, needed)
        except NO_GRADIENT:
            body.derived[key] = None
        else:
            count = len(body.parameters) - len(body.constants)
            held = {*range(consts), *range(consts + carry, count)}
            forward, backward, carried = linearized(body, derived, held)
            body.derived[key] = forward, backward, carried, where
    found: tuple[Program, Program, list[int], tuple[int | None, ...]] | None = body.derived[key]
    return found


def _leads_back(body: Program) -> bool:
    """Return whether the second derivative of a body depends on values of the forward pass."""
    try:
        return FORWARD in vjp_program(body, *_inexact(body))[0].derived
    except NO_GRADIENT:
        return False


def _leading_back(
    op: Operation, body: Program, results: list[Tensor | None], needed: Sequence[bool], inputs: Sequence[Node]
) -> list[Tensor | None]:
    """Join the cotangents of a loop's inputs with the inputs, so that a second derivative in one trace is zeros, not None.

    A loop that is part of a Program's gradient is not joined: there FORWARD says it (see `_leads_back`).
    """
    trace = op.entry.node.trace
    begins = trace is not None and trace.scope is not None and (trace.parent is None or trace.parent.scope is not trace.scope)
    places = [i for i, result in enumerate(results) if result is not None]
    if not begins or not places or not _leads_back(body):
        return results
    joined = identity_n([*[results[i] for i in places], *[handle(n) for n, need in zip(inputs, needed, strict=True) if need]])
    for i, result in zip(places, joined, strict=False):
        results[i] = result
    return results


@gradient(SCAN)
def _scan_gradient(op: Operation, *grads: Any) -> list[Tensor | None]:
    entry = op.entry
    scan = Scan(*entry.node.attrs)
    body, consts, carry, length, reverse, dynamic, saved = scan
    n, fixed, start, xs = scan.split(entry.inputs)
    plain = len(body.outputs) - saved
    outputs = [t.node for t in op.outputs]
    if saved and any(d is not None for d in grads[plain:]):
        saved, plain = 0, len(body.outputs)  # a gradient of a gradient: the residuals are results like others
    if saved:
        original = selected(body, range(plain))
        split = _linear_body(original, consts, carry)
    else:
        original = _without_effects(body)
        split = _linear_body(original, consts, carry)
        if split is not None:
            outputs = record_scan(original, fixed, start, xs, length, reverse=reverse, trips=n if dynamic else None, again=True)
    residuals = outputs[plain:]
    needed = [i - 1 for i, need in enumerate(op.needed) if need and i]
    results = reverse_scan(
        original, split, n if dynamic else None, (fixed, start, xs), residuals, grads[:plain], needed, length, reverse
    )
    return [None, *_leading_back(op, original, results, op.needed[1:], entry.inputs[1:])]


def reverse_scan(
    body: Program,
    split: tuple[Program, Program, list[int], tuple[int | None, ...]] | None,
    trips: Node | None,
    inputs: tuple[Sequence[Node], Sequence[Node], Sequence[Node]],
    residuals: Sequence[Node],
    grads: Sequence[Any],
    needed: Sequence[int],
    length: int,
    reverse: bool,
    history: Sequence[Node] = (),
    of: Program | None = None,
) -> list[Tensor | None]:
    """Return the cotangents of a Scan's inputs (constants, carry, xs), by a Scan that runs the other way.

    With `split` (see `_linear_body`) from the residuals; else from `history`, the carry before each trip, by running
    each trip again. `of` is the user's body, if `body` runs that several times.
    """
    fixed, start, xs = inputs
    consts, carry = len(fixed), len(start)
    given, floating = _inexact(body)
    backward, where = vjp_program(body, given, floating) if split is None else (split[1], split[3])
    stacked = [*xs, *(history if split is None else residuals)]
    place = {i: at for i, at in zip(floating, where, strict=True) if at is not None}
    flowing = [i for i in range(carry) if i in given]
    constants = [i for i in needed if i < consts and i in place]
    taken = [i for i in needed if i >= consts + carry and i in place]
    ys = [i for i in range(carry, len(grads)) if grads[i] is not None and i in given]
    with tracing.inner() as inner:
        fixed_now = [leaf(n.aval, None) for n in fixed]
        flow = [leaf(start[i].aval, None) for i in flowing]
        rows = [leaf(_row(n.aval), None) for n in stacked]
        seeds_of_ys = {i: leaf(body.aval_of(body.outputs[i]), None) for i in ys}
        known = dict(zip(flowing, flow, strict=True)) | seeds_of_ys
        seeds = [known[i] if i in known else _zeros(body.aval_of(body.outputs[i])).node for i in given]
        x_rows, others = rows[: len(xs)], rows[len(xs) :]
        parameters = [*fixed_now, *others, *x_rows, *seeds]
        if split is not None:  # the carry is not read: what is needed of it is among the residuals
            parameters = [*fixed_now, *[leaf(n.aval, None) for n in start], *x_rows, *seeds, *others]
        cotangents = tracing.inline(backward, parameters)
        passed = [cotangents[place[consts + i]] if consts + i in place else zeros_of(known[i]).node for i in flowing]
        products = {i: products_of(cotangents[place[i]], fixed_now) for i in constants} if trips is None else {}
        summed = [i for i in constants if not products.get(i)]
        sums = [leaf(fixed[i].aval, None) for i in summed]
        factors = {f: None for terms in products.values() for a, b, _ in terms for f in (a, b) if f not in rows}
        passed += [(EagerTensor(s) + EagerTensor(cotangents[place[i]])).node for i, s in zip(summed, sums, strict=True)]
        rows_out = list(dict.fromkeys([*[cotangents[place[i]] for i in taken], *factors]))  # a loop writes each row once
        parameters = [*fixed_now, *flow, *sums, *rows, *seeds_of_ys.values()]
        step = execution.intern(tracing.close(inner, [*passed, *rows_out], parameters))
        if _leads_back(body if of is None else of):
            step.derived[FORWARD] = body
    stacked = [*stacked, *[grads[i].node for i in ys]]
    starts = [zeros_of(start[i]) if grads[i] is None else grads[i] for i in flowing] + [zeros_of(fixed[i]) for i in summed]
    nodes = record_scan(step, fixed, [s.node for s in starts], stacked, length, reverse=not reverse, trips=trips)
    ends = [*[consts + i for i in flowing], *summed]
    results: dict[int, Tensor] = {i: EagerTensor(n) for i, n in zip(ends, nodes, strict=False) if i in needed}
    of_rows = dict(zip(rows, stacked, strict=False)) | dict(zip(rows_out, nodes[len(ends) :], strict=False))
    results |= {i: EagerTensor(of_rows[cotangents[place[i]]]) for i in taken}
    results |= {i: summed_products(terms, of_rows) for i, terms in products.items() if terms}
    return [results.get(i) for i in range(consts + carry + len(xs))]


def _row(of: Aval) -> Aval:
    return aval(of.shape[1:], of.dtype)


# ---------------------------------------------------------------------------------------------------------------------
# While


def _while(
    *inputs: Any, cond: Program, body: Program, consts: int, carry: int, capacity: int, limit: int | None
) -> tuple[Any, ...]:
    fixed, start = inputs[:consts], tuple(inputs[consts:])

    def goes_on(trip: Any, carried: tuple[Any, ...]) -> Any:
        (holds,) = cond.evaluate(*fixed, *carried)
        return holds if limit is None else holds & (trip < limit)

    def fill(state: tuple[Any, ...]) -> tuple[Any, ...]:
        """Run on until the condition fails or the checkpoints are full."""
        stride = state[1]

        def step(inner: tuple[Any, ...]) -> tuple[Any, ...]:
            trip, carried, kept = inner
            slot, off = trip // stride, trip % stride

            def keep(buffer: Any, value: Any) -> Any:
                before = lax.dynamic_index_in_dim(buffer, slot, keepdims=False)
                return lax.dynamic_update_index_in_dim(buffer, jnp.where(off == 0, value, before), slot, 0)

            kept = tuple([keep(b, c) for b, c in zip(kept, carried, strict=True)])
            return trip + 1, tuple(body.evaluate(*fixed, *carried)), kept

        trip, carried, kept = lax.while_loop(
            lambda inner: goes_on(inner[0], inner[1]) & (inner[0] < stride * capacity), step, (state[0], state[2], state[3])
        )
        return trip, stride, carried, kept

    def halve(state: tuple[Any, ...]) -> tuple[Any, ...]:
        trip, stride, carried, kept = state
        halved = tuple([jnp.concatenate([b[::2], jnp.zeros_like(b[: capacity - len(b[::2])])]) for b in kept])
        return fill((trip, stride * 2, carried, halved))

    empty = tuple([jnp.zeros((capacity, *c.shape), c.dtype) for c in start])
    state = fill((jnp.zeros((), TRIPS), jnp.ones((), TRIPS), start, empty))
    trip, stride, carried, kept = lax.while_loop(lambda s: goes_on(s[0], s[2]), halve, state)
    return (*carried, trip, stride, *kept)


def _while_avals(
    *inputs: Aval, cond: Program, body: Program, consts: int, carry: int, capacity: int, limit: int | None
) -> tuple[Aval, ...]:
    number = aval((), TRIPS)
    carried = inputs[consts:]
    return (*carried, number, number, *[aval((capacity, *a.shape), a.dtype) for a in carried])


class While(NamedTuple):
    """The attributes of a loop that runs until its condition fails, at most `limit` times; `capacity` checkpoints are kept."""

    cond: Program
    body: Program
    consts: int
    carry: int
    capacity: int
    limit: int | None

    def bodies(self) -> tuple[Body, ...]:
        """Return its condition and its body, which take the constants and the carry."""
        carried = {self.consts + k: k for k in range(self.carry)}
        takes = range(self.consts + self.carry)
        return (
            Body(self.cond, takes, {}, carried=carried),
            Body(self.body, takes, {k: k for k in range(self.carry)}, carried=carried),
        )


def _run_while(interpreter: Interpreter, loop: While, inputs: Sequence[Any]) -> list[Any]:
    fixed, carried = inputs[: loop.consts], tuple(inputs[loop.consts :])
    trip, stride = 0, 1
    kept: list[tuple[Any, ...]] = []
    while (loop.limit is None or trip < loop.limit) and interpreter.holds(loop.cond, [*fixed, *carried]):
        if trip == stride * loop.capacity:
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
        "While",
        _while,
        While,
        kind=LOOP,
        bodies=While.bodies,
        run=_run_while,
        pruned=_pruned_while,
        runs=_while_runs,
        counted_by=lambda loop: loop.carry,
        infer=_while_avals,
        saves="inputs y",
        endless=True,
        takes_none=True,
        kept=lambda attrs: attrs[3],
    )
)


def record_while(
    cond: Program, body: Program, consts: Sequence[Node], carry: Sequence[Node], limit: int | None = None
) -> list[Node]:
    """Record a loop: `body` (consts…, carry…) → carry… runs while `cond` of the same gives True, at most `limit` times.

    Returns the nodes of the last carry.
    """
    loop = While(cond, body, len(consts), len(carry), _capacity(body, [n.aval for n in carry], limit), limit)
    return engine.elements(engine.record(WHILE, (*consts, *carry), loop))[: len(carry)]


def _capacity(body: Program, carry: Sequence[Aval], limit: int | None) -> int:
    """Return how many checkpoints a loop keeps."""
    size = sum(a.size * a.dtype.itemsize for a in carry) + body.bytes
    capacity = min(MOST_CHECKPOINTS, max(FEWEST_CHECKPOINTS, CHECKPOINT_BYTES // max(size, 1)))
    if limit is not None:
        capacity = min(capacity, max(limit, 1))
    return capacity + capacity % 2 if capacity > 1 else 2


def _zeros(of: Aval) -> Tensor:
    return zeros(of.shape, of.type)


@gradient(WHILE)
def _while_gradient(op: Operation, *grads: Any) -> list[Tensor | None]:
    """Return the gradient: a Scan from the last checkpoint to the first, which runs each part of the loop again."""
    entry = op.entry
    _, whole, consts, carry, capacity, _ = While(*entry.node.attrs)
    body = _without_effects(whole)
    fixed, start = entry.inputs[:consts], entry.inputs[consts:]
    if [body.aval_of(r) for r in body.outputs] != [n.aval for n in start]:  # a graph is being built, and shapes are open
        return [zeros_of(n) if need else None for n, need in zip(entry.inputs, op.needed, strict=True)]
    outputs = [t.node for t in op.outputs]
    trips, stride, kept = outputs[carry], outputs[carry + 1], outputs[carry + 2 :]
    kept_grads = grads[carry + 2 :]
    second = any(d is not None for d in kept_grads)
    with tracing.inner() as inner:
        parts = [leaf(n.aval, None) for n in (*fixed, trips, stride, *start)]
        number = leaf(aval((), TRIPS), None)
        body_consts, (all_trips, far), carried = parts[:consts], parts[consts : consts + 2], parts[consts + 2 :]
        left = EagerTensor(all_trips) - EagerTensor(number) * EagerTensor(far)
        now = minimum(left, EagerTensor(far))
        run = _run_again(body, body_consts, carried, now.node, far, capacity)
        results = [*run, *(carried if second else [])]
        segment = execution.intern(tracing.close(inner, results, [*parts, number]))
    segments = (EagerTensor(trips) + EagerTensor(stride) - 1) // EagerTensor(stride)
    numbers = engine.constant(np.arange(capacity, dtype=TRIPS))
    needed = [i if i < consts else i + 2 for i, need in enumerate(op.needed) if need]
    given = [*grads[:carry], *(kept_grads if second else [])]
    results_of = reverse_scan(
        segment, None, segments.node, ([*fixed, trips, stride], start, [numbers]), (), given, needed, capacity, False, kept, body
    )
    cotangents = [*results_of[:consts], *results_of[consts + 2 : consts + 2 + carry]]
    return _leading_back(op, body, cotangents, op.needed, entry.inputs)


def _run_again(
    body: Program, consts: Sequence[Node], carry: Sequence[Node], trips: Node, stride: Node, capacity: int
) -> list[Node]:
    """Run a part of a loop again, from one checkpoint to the next: one trip if all were kept, else a Scan of `trips`."""
    count = len(consts) + len(carry)
    avals = [n.aval for n in (*consts, *carry, trips, stride)]
    with tracing.inner() as inner:
        parts = [leaf(a, None) for a in avals]
        run = record_scan(body, parts[: len(consts)], parts[len(consts) : count], [], capacity, trips=parts[count])
        results = [_unless_beyond(r, parts[-1], capacity) if r.aval.inexact else r for r in run[: len(carry)]]
        several = execution.intern(tracing.close(inner, results, parts))
    once = rewired(body, range(count), avals)
    choice = EagerTensor(stride) == tensor(1, "int64")
    return engine.elements(engine.record(IF, (choice.node, *consts, *carry, trips, stride), If(once, several)))


def _unless_beyond(value: Node, stride: Node, capacity: int) -> Node:
    """Return `value`, or NaN where a part of the loop is longer than the capacity (capacity² trips in all)."""
    dtype = value.aval.type
    factor = where(EagerTensor(stride) > capacity, tensor(float("nan"), dtype), tensor(1.0, dtype))
    result: Node = (EagerTensor(value) * factor).node
    return result
