"""The loop primitive `Scan`: a body that runs a known number of times over carried values. Its gradient is another Scan.

`Scan`: (n, constants…, carry…, xs…) → (carry…, ys…, residuals…). The residuals are the values of each trip that the body's
gradient needs; if no gradient is asked for, they are not compiled. Since the gradient is a Scan in reverse order, derivatives of
any order exist. Loops with a condition are in `checkpointed_while`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence, Set
from typing import Any, NamedTuple

import numpy as np

from gradtape._src.autodiff.backward import Operation, differentiable_parts, transposes, vjp_program
from gradtape._src.autodiff.products import products_of, summed_products
from gradtape._src.control.programs import linearized, narrowed, selected
from gradtape._src.core.base.errors import InvalidArgumentError
from gradtape._src.core.declarations.define import gradient
from gradtape._src.core.engine import engine, execution, tracing
from gradtape._src.core.platform.arrays import jnp, lax
from gradtape._src.core.programs import guards
from gradtape._src.core.programs.op import define
from gradtape._src.core.programs.program import Node, Program, leaf, memoized, read_by
from gradtape._src.core.programs.structured import LOOP, HeldProgram, Interpreter, Pruned, StructuredOp, arity
from gradtape._src.core.tensors.convert import node_of, tensor
from gradtape._src.core.tensors.tensor import EagerTensor, Tensor, handle
from gradtape._src.core.values.aval import Aval, aval, has_no_rank, row_of, stacked
from gradtape._src.ops.array.creation import zeros_of
from gradtape._src.ops.array.joining import concat
from gradtape._src.ops.array.shape import identity_n, zeros
from gradtape._src.ops.math.arithmetic import maximum, minimum

TRIPS = np.dtype(np.int64)
ROOM = 1025  # residuals of at most so many trips are kept; the gradient of a longer loop of unknown length is computed by blocks
BLOCKS = 64
NO_GRADIENT = (LookupError, InvalidArgumentError)  # the op has no gradient, or none for this dtype


def _split(inputs: Sequence[Any], consts: int, carry: int) -> tuple[Any, tuple[Any, ...], tuple[Any, ...], tuple[Any, ...]]:
    n, *rest = inputs
    return n, tuple(rest[:consts]), tuple(rest[consts : consts + carry]), tuple(rest[consts + carry :])


def _scan(
    *inputs: Any, body: Program, consts: int, carry: int, length: int, reverse: bool, dynamic: bool, saved: int
) -> tuple[Any, ...]:
    n, fixed, start, xs = _split(inputs, consts, carry)

    def step(carried: tuple[Any, ...], x: tuple[Any, ...]) -> tuple[Any, Any]:
        now, flag = carried
        results, flag = guards.run(body, flag, *fixed, *now, *x)
        return (tuple(results[:carry]), flag), tuple(results[carry:])

    flag = guards.begin(body)
    if not dynamic:
        (final, flag), ys = lax.scan(step, (start, flag), xs, length=None if xs else length, reverse=reverse)
        guards.note(flag)
        return (*final, *ys)
    empty = tuple([jnp.zeros((length, *a.shape), a.dtype) for a in body.results[carry:]])

    def trip(i: Any, state: tuple[Any, Any]) -> tuple[Any, Any]:
        carried, ys = state
        at = n - 1 - i if reverse else i
        carried, y = step(carried, tuple([lax.dynamic_index_in_dim(x, at, keepdims=False) for x in xs]))
        return carried, tuple([lax.dynamic_update_index_in_dim(b, part, at, 0) for b, part in zip(ys, y, strict=True)])

    (final, flag), ys = lax.fori_loop(jnp.zeros((), TRIPS), n, trip, ((start, flag), empty))
    guards.note(flag)
    return (*final, *ys)


def _scan_avals(
    *inputs: Aval, body: Program, consts: int, carry: int, length: int, reverse: bool, dynamic: bool, saved: int
) -> tuple[Aval, ...]:
    return (*body.results[:carry], *[stacked(a, length) for a in body.results[carry:]])


class Scan(NamedTuple):
    """The attributes of a loop of known length. With `dynamic` the number of trips is an input, at most `length`.

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
        """Return the number of rows of the xs, from the Avals of the inputs; None without xs."""
        xs = avals[1 + self.consts + self.carry :]
        return xs[0].shape[0] if xs else None

    def bodies(self) -> tuple[HeldProgram, ...]:
        """Return the loop's one body, which takes the constants, the carry and a row of each x."""
        first, count = self.consts, arity(self.body)
        gives = {k: k for k in range(len(self.body.outputs))}
        carried = {first + k: k for k in range(self.carry)}
        return (HeldProgram(self.body, range(1, 1 + count), gives, range(first + self.carry, count), carried),)


def _run_scan(interpreter: Interpreter, scan: Scan, inputs: Sequence[Any]) -> list[Any]:
    n, fixed, carried, xs = scan.split(inputs)
    trips = int(interpreter.number(n)) if scan.dynamic or not xs else interpreter.extent(xs[0])
    wanted = len(scan.body.outputs) - (0 if interpreter.residuals else scan.saved)
    rows = []
    for at in reversed(range(trips)) if scan.reverse else range(trips):
        row = min(at, scan.length - 1)  # trips beyond `length` reuse the last row; their results become NaN later
        results = interpreter.call(scan.body, [*fixed, *carried, *[interpreter.row(x, row) for x in xs]])
        carried = tuple(results[: scan.carry])
        rows.append(results[scan.carry : wanted])
    if scan.reverse:
        rows.reverse()
    avals = scan.body.results[scan.carry : wanted]
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


def _lean_scan(scan: Scan, live: Set[int]) -> Scan:
    plain = len(scan.body.outputs) - scan.saved
    if not scan.saved or max(live, default=-1) >= plain:
        return scan
    return scan._replace(body=selected(scan.body, range(plain)), saved=0)


def _scan_runs(scan: Scan, trips: Any) -> list[tuple[Program, int]]:
    if trips is None:
        trips = min(scan.length, ROOM) if scan.dynamic else scan.length
    return [(scan.body, trips)]


SCAN = define(
    StructuredOp(
        "Scan", _scan, Scan, kind=LOOP, bodies=Scan.bodies, run=_run_scan, pruned=_pruned_scan, lean=_lean_scan, runs=_scan_runs,
        decided_by=lambda scan: 0 if scan.dynamic else None, infer=_scan_avals, saves="inputs y", takes_none=True,
        kept=lambda attrs: attrs[2] if attrs[5] else len(attrs[0].outputs), traits="own",
    )
)  # fmt: skip


def record_scan(
    body: Program,
    consts: Sequence[Node],
    carry: Sequence[Node],
    xs: Sequence[Node],
    length: int,
    *,
    reverse: bool = False,
    trips: Node | None = None,
    number: Node | None = None,
    again: bool = False,
    derived: bool = False,
) -> list[Node]:
    """Record `length` runs of `body`: (consts…, carry…, x…) → (carry…, y…); with `trips`, a node, that number of runs.

    `number` is a node with the value `length`, if that is the number of rows of a tensor of unknown rank.

    Returns the nodes of the last carry and of the stacked ys, then the residuals. Residuals are kept if a tape records and the
    body has no effects. With `again` they are always kept, and effects are left out. A loop in a gradient (`derived`) that holds
    loops has none, as each order of derivative would add more.
    """
    taped = bool(engine.local.tapes) or engine.local.trace.scope is not None  # a function's caller may have a tape
    by_blocks = trips is not None and not xs and length > ROOM
    saves = again or (taped and not by_blocks and not body.effects and not (derived and _holds_loop(body)))
    whole, saved = with_residuals(body, len(consts), len(carry)) if saves else (body, 0)
    n = (number or node_of(length, TRIPS)) if trips is None else trips
    attrs = Scan(whole, len(consts), len(carry), length, reverse, trips is not None, saved)
    return tracing.call_at_once(SCAN, (n, *consts, *carry, *xs), attrs)


def _holds_loop(program: Program) -> bool:
    return any(op.structured and (op.kind is LOOP or any(map(_holds_loop, op.programs(attrs)))) for op, attrs, *_ in program.keys)


def with_residuals(body: Program, consts: int, carry: int) -> tuple[Program, int]:
    """Return the body with its residuals as additional outputs, and the number of residuals."""
    split = _linear_body(body, consts, carry, transposes(body))
    if split is None:
        return body, 0
    whole = split[0]
    if tracing.FORWARD in body.derived:
        whole.derived[tracing.FORWARD] = body.derived[tracing.FORWARD]
    return whole, len(whole.outputs) - len(body.outputs)


@memoized
def _linear_body(
    body: Program, consts: int, carry: int, transposed: bool
) -> tuple[Program, Program, list[int], tuple[int | None, ...]] | None:
    """Return `linearized(body)` and the positions of the cotangents; `transposed` is what `transposes` says.

    None if an op of the body has no gradient, or none for its dtype; or if the rank of a value is unknown.
    """
    if has_no_rank(tuple(body.avals)):
        return None
    try:
        derived, where = vjp_program(body, *differentiable_parts(body))
    except NO_GRADIENT:
        return None
    forward, backward, carried = linearized(body, derived, {*range(consts), *range(consts + carry, arity(body))})
    return forward, backward, carried, where


def _leads_back(body: Program) -> bool:
    """Return whether a body's second derivative depends on values of the forward pass."""
    try:
        return tracing.FORWARD in vjp_program(body, *differentiable_parts(body))[0].derived
    except NO_GRADIENT:
        return False


def leading_back(
    op: Operation, body: Program, results: list[Tensor | None], needed: Sequence[bool], inputs: Sequence[Node]
) -> list[Tensor | None]:
    """Connect the cotangents of a loop's inputs with these inputs, so that a second derivative is zeros and not None.

    Not needed for a loop in a Program's gradient, where tracing.FORWARD states it (see `_leads_back`).
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
    if dynamic and not xs and length > ROOM:
        results = _by_blocks(tracing.without_effects(body), n, fixed, start, grads, op.needed[1:], length // BLOCKS)
        return [None, *leading_back(op, body, results, op.needed[1:], entry.inputs[1:])]
    outputs = [t.node for t in op.outputs]
    if saved and any(d is not None for d in grads[plain:]):
        saved, plain = 0, len(body.outputs)  # in a gradient of a gradient, residuals are ordinary results
    if saved and transposes(body):
        # The residuals are of another gradient: that of operators with other transposes.
        body, saved = selected(body, range(plain)), 0
    if saved:
        original = selected(body, range(plain))
        split = _linear_body(original, consts, carry, transposes(original))
    else:
        original = tracing.without_effects(body)
        split = _linear_body(original, consts, carry, transposes(original))
        if split is not None:
            outputs = record_scan(original, fixed, start, xs, length, reverse=reverse, trips=n if dynamic else None, again=True)
    residuals = outputs[plain:]
    needed = [i - 1 for i, need in enumerate(op.needed) if need and i]
    results = reverse_scan(
        original, split, n if dynamic else None, (fixed, start, xs), residuals, grads[:plain], needed, length, reverse
    )
    return [None, *leading_back(op, original, results, op.needed[1:], entry.inputs[1:])]


def _by_blocks(
    body: Program,
    trips: Node,
    fixed: Sequence[Node],
    start: Sequence[Node],
    grads: Sequence[Any],
    needed: Sequence[bool],
    room: int,
) -> list[Tensor | None]:
    """Return the gradient of a long loop: run it up to its last block, then differentiate block after block, running each again.

    A block has `room` trips, and may be split into blocks itself. Only the carry at the beginning of each block is kept.
    """
    count, consts = len(fixed) + len(start), len(fixed)

    def run_block(*parts: Node) -> list[Node]:
        whole = engine.constant(np.array(room, TRIPS))
        run = record_scan(body, parts[:consts], parts[consts:], [], room, trips=whole)[: len(start)]
        return [*run, *run]

    def run_last(*parts: Node) -> list[Node]:
        now = minimum(EagerTensor(parts[consts]) - EagerTensor(parts[-1]) * room, tensor(room, "int64"))
        return record_scan(body, parts[:consts], parts[consts + 1 : -1], [], room, trips=now.node)[: len(start)]

    block = tracing.program_of(run_block, [n.aval for n in (*fixed, *start)])
    last = tracing.program_of(run_last, [*[n.aval for n in (*fixed, trips, *start)], aval((), TRIPS)])
    blocks = (EagerTensor(trips) + (room - 1)) // room
    before_last = maximum(blocks - 1, tensor(0, "int64"))
    ends = record_scan(block, fixed, start, [], BLOCKS - 1, trips=before_last.node)[len(start) : 2 * len(start)]
    begins = [concat([EagerTensor(s)[None], EagerTensor(rows)], 0).node for s, rows in zip(start, ends, strict=True)]
    numbers = engine.constant(np.arange(BLOCKS, dtype=TRIPS))
    wanted = [i if i < len(fixed) else i + 1 for i in range(count) if needed[i]]
    results = reverse_scan(
        last, None, blocks.node, ([*fixed, trips], start, [numbers]), (), grads, wanted, BLOCKS, False, begins, body
    )
    return [*results[: len(fixed)], *results[len(fixed) + 1 : count + 1]]


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
    """Return the cotangents of a Scan's inputs (constants, carry, xs), computed by a Scan in reverse order.

    With `split` (see `_linear_body`) it uses the residuals. Otherwise it runs each trip again from `history`, the carry before
    that trip. `of` is the user's body if `body` runs it several times.
    """
    fixed, start, xs = inputs
    consts, carry = len(fixed), len(start)
    given, floating = differentiable_parts(body)
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
        rows = [leaf(row_of(n.aval), None) for n in stacked]
        avals = body.results
        seeds_of_ys = {i: leaf(avals[i], None) for i in ys}
        known = dict(zip(flowing, flow, strict=True)) | seeds_of_ys
        seeds = [known[i] if i in known else _zeros(avals[i]).node for i in given]
        x_rows, others = rows[: len(xs)], rows[len(xs) :]
        parameters = [*fixed_now, *others, *x_rows, *seeds]
        if split is not None:  # all forward values that are needed are residuals
            parameters = [*fixed_now, *[leaf(n.aval, None) for n in start], *x_rows, *seeds, *others]
        cotangents = tracing.inline(backward, parameters)
        passed = [cotangents[place[consts + i]] if consts + i in place else zeros_of(known[i]).node for i in flowing]
        products = {i: products_of(cotangents[place[i]], fixed_now) for i in constants} if trips is None else {}
        summed = [i for i in constants if not products.get(i)]
        sums = [leaf(fixed[i].aval, None) for i in summed]
        factors = {f: None for terms in products.values() for a, b, _ in terms for f in (a, b) if f not in rows}
        passed += [(EagerTensor(s) + EagerTensor(cotangents[place[i]])).node for i, s in zip(summed, sums, strict=True)]
        # Each row is stacked once, even if it is used several times.
        rows_out = list(dict.fromkeys([*[cotangents[place[i]] for i in taken], *factors]))
        parameters = [*fixed_now, *flow, *sums, *rows, *seeds_of_ys.values()]
        step = execution.intern(tracing.close(inner, [*passed, *rows_out], parameters))
        if _leads_back(body if of is None else of):
            step.derived[tracing.FORWARD] = body
    stacked = [*stacked, *[grads[i].node for i in ys]]
    starts = [zeros_of(start[i]) if grads[i] is None else grads[i] for i in flowing] + [zeros_of(fixed[i]) for i in summed]
    nodes = record_scan(step, fixed, [s.node for s in starts], stacked, length, reverse=not reverse, trips=trips, derived=True)
    ends = [*[consts + i for i in flowing], *summed]
    results: dict[int, Tensor] = {i: EagerTensor(n) for i, n in zip(ends, nodes, strict=False) if i in needed}
    of_rows = dict(zip(rows, stacked, strict=False)) | dict(zip(rows_out, nodes[len(ends) :], strict=False))
    results |= {i: EagerTensor(of_rows[cotangents[place[i]]]) for i in taken}
    results |= {i: summed_products(terms, of_rows) for i, terms in products.items() if terms}
    return [results.get(i) for i in range(consts + carry + len(xs))]


def _zeros(of: Aval) -> Tensor:
    return zeros(of.shape, of.type)
