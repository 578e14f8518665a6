"""The one entry point of all ops (`record`), the pending trace of each thread, and when and how it runs.

Rule numbers in the comments refer to "The rules of the engine" in `docs/design.md`.
"""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

import jax
import numpy as np

from gradtape._src.core.base import errors, hooks, locks
from gradtape._src.core.base.ambient import declare, field
from gradtape._src.core.base.tracebacks import internal, line_outside
from gradtape._src.core.engine import constant_folding, execution, slices, tiers
from gradtape._src.core.engine.constant_folding import COUNT
from gradtape._src.core.native import twins
from gradtape._src.core.platform import memory, runtime, xla
from gradtape._src.core.programs import journal
from gradtape._src.core.programs.op import has_strings
from gradtape._src.core.programs.out_of_scope import out_of_scope
from gradtape._src.core.programs.program import (
    ELEMENT,
    INDEX,
    INSIDE,
    NUMBER,
    RAN,
    Node,
    Trace,
    effectful,
    leaf,
)
from gradtape._src.core.values.aval import aval
from gradtape._src.core.values.dim import Dim, guided, is_unknown

if TYPE_CHECKING:
    from types import CodeType
    from weakref import ref

    from gradtape._src.core.programs.op import Attributes, Op
    from gradtape._src.core.values.aval import Aval

new = Node.__new__

STRIDE = 64  # pending nodes at which the trace of a loop is cut
LIMIT = 4 * STRIDE  # pending nodes at which any trace is cut
SMALL = 50  # residuals of a trace with fewer nodes are recomputed, not kept
SMALL_BYTES = 1 << 16  # bytes above which a residual is kept even so
UNBOUNDED = sys.maxsize


class State:
    """The traces and tapes of a thread. Replicas share the trace of their thread; each has tapes of its own.

    `suspended`: the surrounding traces, each in a list of one, so that a flush can replace it. `anchor`: the source location at
    which the trace of a loop is cut. `again`: whether a recorded trace is being run again. `checking`: whether ops check their
    inputs. `checks`: where the checks of eager code are noted, as `(op, attributes, nodes)`, while a call is recorded; else None.
    `pauses`: the number of tapes that a surrounding `stop_recording` has stopped.
    """

    trace: Trace = field(lambda: Trace(LIMIT), per_replica=False)
    suspended: list[list[Trace]] = field(list, per_replica=False)
    tapes: list[ref[Any]] = field(list, per_replica=True)
    pauses: int = field(0, per_replica=True)
    anchor: tuple[CodeType | None, int] | None = field(None, per_replica=False)
    again: bool = field(False, per_replica=False)
    checking: bool = field(True, per_replica=False)
    checks: list[tuple[Op, Attributes, list[Node]]] | None = field(None, per_replica=False)


local = declare(State)
NeedsValues = errors.NeedsValues
shared = locks.RLock()  # held while a variable is updated from its own value, and while threads share nodes


def tracing() -> bool:
    """Return whether the thread traces a function or graph."""
    return local.trace.scope is not None


hooks.core.tracing = tracing


@contextlib.contextmanager
def recording_in(trace: Trace, again: bool = False) -> Iterator[Trace]:
    """Record into `trace` in this thread, unseen by the open tapes; restore the previous trace at the end.

    `again`: a recorded trace runs again, so the loop anchor that it finds is discarded. A flush meanwhile may replace the
    previous trace.
    """
    state = local
    before, open_tapes, anchor, ran_again = [state.trace], state.tapes, state.anchor, state.again
    state.trace, state.tapes, state.suspended = trace, [], [*state.suspended, before]
    if again:
        state.anchor, state.again = None, True
    try:
        yield trace
    finally:
        (state.trace,), state.tapes = before, open_tapes
        state.suspended = [other for other in state.suspended if other is not before]
        if again:
            state.anchor, state.again = anchor, ran_again


def _after_fork() -> None:
    """Give a forked child a trace that refuses its first op, and a lock that no thread owns."""
    global shared
    local.trace, shared = Trace(LIMIT), locks.RLock()


os.register_at_fork(after_in_child=_after_fork)


# ---------------------------------------------------------------------------------------------------------------------
# The entry point of ops


@twins.in_c
def record(op: Op, inputs: tuple[Node, ...], attrs: Attributes = ()) -> Node:
    """Append one op to the thread's trace and return its node. `inputs` is a tuple of nodes, `attrs` one of attribute values."""
    trace = local.trace
    if trace.overrides is not None:
        op = trace.overrides(op)
        if (made := trace.overrides.recorded(op, inputs, attrs)) is not None:
            return made
    if len(trace.nodes) >= trace.limit:
        trace = _cut(trace)
    known, references = trace.leaf_index, list[int]()
    for x in inputs:
        reference = x.index if x.trace is trace else known.get(x)
        if reference is None and (x.value is None or trace.parent is not None):
            reference = adopt(trace, x)
        elif reference is None:  # a node with a value becomes a leaf; a Python number is a new leaf in each use
            trace.leaves.append(x)
            reference = -len(trace.leaves)
            if x.index != NUMBER:
                known[x] = reference
        references.append(reference)
    avals = tuple([x.aval for x in inputs])
    result = op.avals.get((attrs, *avals))
    if result is None:
        op, result = op.resolved(avals, attrs)
        if op.runs_outside and (ran := _run_on_host(op, inputs, attrs)) is not None:
            return ran
    frame = sys._getframe(1)
    while internal[frame.f_code.co_filename] and frame.f_back is not None:
        frame = frame.f_back
    node = Node((op, attrs, *references), inputs, result, trace, len(trace.nodes), frame.f_code, frame.f_lasti)
    trace.nodes.append(node)  # one append, so an interrupt never leaves a half-recorded node
    return node


def record_as(op: Op, inputs: tuple[Node, ...], attrs: Attributes, result: Any) -> Node:
    """Append one op with a known Aval (or tuple of Avals) of its result, in place of that of the op's shape rule."""
    trace = local.trace
    known = trace.leaf_index
    references = [x.index if x.trace is trace else adopt(trace, x) if (r := known.get(x)) is None else r for x in inputs]
    node = Node((op, attrs, *references), inputs, result, trace, len(trace.nodes), *line_outside())
    trace.nodes.append(node)
    return node


def adopt(trace: Trace, node: Node) -> int:
    """Enter a node of another trace into `trace`, as a leaf or by recording it again; return its reference.

    A node without a value is recorded again: its value did not leave its program (rule 6), or it is pending in another thread.
    """
    if trace.parent is not None:  # in an inner trace, every outside node is a leaf
        _check_scope(trace, node)
        return trace.add_leaf(node)
    if node.value is not None:
        return trace.add_leaf(node)
    with shared:  # a thread clears the inputs of its nodes after a run
        return _adopt_pending(trace, node)


def _adopt_pending(trace: Trace, node: Node) -> int:
    if node.value is not None:
        return trace.add_leaf(node)
    known = trace.leaf_index
    stack = [node]  # iterative: a chain can be long
    while stack:
        current = stack[-1]
        if current in known:
            stack.pop()
            continue
        _check_scope(trace, current)
        inputs = current.inputs
        missing = [i for i in inputs if i.trace is not trace and i.value is None and i not in known]
        if missing:
            stack.extend(missing)
            continue
        references = []
        for i in inputs:
            reference = i.index if i.trace is trace else known.get(i)
            references.append(trace.add_leaf(i) if reference is None else reference)
        key = (*current.key[:2], *references)
        again = Node(key, inputs, current.aval, trace, len(trace.nodes), current.code, current.offset)
        again.handle = current.handle
        trace.nodes.append(again)
        known[current] = again.index
        trace.recomputed.append((current, again))
        stack.pop()
    return known[node]


def _check_scope(trace: Trace, node: Node) -> None:
    foreign = node.trace is not None and node.trace.parent is not None and not trace.inside(node.trace)
    if foreign and (message := hooks.graphs.other(node, trace)) is not None:
        raise (TypeError if trace.parent is None else ValueError)(message)
    if foreign or (node.inputs is None and node.value is None and trace.parent is None):
        around = node.trace.parent if foreign else None
        inside = around is not None and trace.scope is not None and node.trace.inside(trace)
        raise out_of_scope(node, inside, around is not None and around.parent is not None and trace.inside(around))


def _run_on_host(op: Op, inputs: tuple[Node, ...], attrs: Attributes) -> Node | None:
    """Run an op on strings at once, in eager code or on constants of a function; None if the op has to be recorded."""
    trace = local.trace
    if op is RAN or not (op.on_host or any(has_strings(x.aval) for x in inputs)):
        return None
    if trace.parent is not None and (trace.scope is None or any(x.value is None for x in inputs) or effectful((op, attrs))):
        return None
    for x in inputs:
        peek(x)
    result = execution.run_outside(op, attrs, [value(x) for x in inputs])
    if trace.parent is None:
        return record_ran(op, inputs, attrs, result)
    return None if isinstance(result, tuple) else constant(result)


def record_ran(op: Op, inputs: tuple[Node, ...], attrs: Attributes, value: Any) -> Node:
    """Record an op that has already run (its result's shape depends on values), so that tapes see it; return its node."""
    if local.trace.overrides is not None:
        op = local.trace.overrides(op)
    holder = leaf(_aval_of(value), value)
    node = record(RAN, (holder, *inputs), (op, attrs))
    node.inputs, node.value = inputs, value
    local.trace.early.append(node)
    return node


def _aval_of(value: Any) -> Aval | tuple[Aval, ...]:
    return tuple([aval(v.shape, v.dtype) for v in value]) if isinstance(value, tuple) else aval(value.shape, value.dtype)


@twins.in_c
def elements(node: Node) -> list[Node]:
    """Record the outputs of the last node, an op with several results; return their nodes."""
    trace = node.trace
    index, inputs, code, offset, first = node.index, (node,), node.code, node.offset, len(trace.nodes)
    result = [
        Node((ELEMENT, INDEX[i], index), inputs, aval_, trace, first + i, code, offset) for i, aval_ in enumerate(node.aval)
    ]
    if node.value is not None:
        for element, known in zip(result, node.value, strict=True):
            element.value = known
        trace.early += result
    trace.nodes.extend(result)
    return result


# ---------------------------------------------------------------------------------------------------------------------
# Leaves

_numbers: dict[tuple[Any, int], Node] = {}


def current_graph(trace: Trace | None = None) -> Any:
    """Return the graph that the thread records into; None in eager code and inside a branch or loop of a graph.

    If `trace` is given: the graph that records into it.
    """
    trace = local.trace if trace is None else trace
    graph = None if trace.scope is None else getattr(trace.scope, "graph", None)
    return graph if graph is not None and graph.trace is trace else None


def graph_around() -> Any:
    """Return the graph that the thread records into, also from inside its branches, loops and functions; None in eager code."""
    trace: Trace | None = local.trace
    while trace is not None and trace.scope is not None:
        graph = getattr(trace.scope, "graph", None)
        if graph is not None:
            return graph
        trace = trace.parent
    return None


def counting(count: Any, rows: Sequence[Node] = ()) -> Node:
    """Return a leaf that holds `range(count)` as int64; in a graph an op, because `count` may be unknown.

    `rows` are nodes whose first extent is `count`.
    """
    graph = graph_around() if is_unknown(count) else current_graph()
    if graph is not None:
        made: Node = graph.counting(count, rows)
        return made
    if type(count) is Dim:
        return record(COUNT, (), (count,))
    return constant(np.arange(count, dtype=np.int64))


def integers(node: Node) -> np.ndarray | None:
    """Return the value of an integer node computed from extents and constants, with symbols for unknown extents.

    None if it depends on other values, or where all extents are known.
    """
    graph = graph_around()
    if graph is not None:
        known: np.ndarray | None = graph.integers(node)
        return known
    if not guided() or node.aval.dtype.kind not in "iub":
        return None
    found = constant_folding.integers(node)
    return constant_folding.folded(node, numbers=True) if found is None else found[0]


def number(value: Any, dtype: np.dtype) -> Node:
    """Return a leaf for a Python number in a NumPy dtype. From its second use in eager code on it holds a JAX array (rule 5)."""
    key = (value, dtype.num)
    known = _numbers.get(key)
    if known is not None and (value or str(value)[0] != "-"):  # 0.0 equals -0.0
        eager = local.trace.scope is None  # in a function it is a constant of the Program, a NumPy array
        if eager and type(known.value) is np.ndarray and not (dtype.kind in "iu" and tiers.stays(known.value)):
            known.value = xla.put(known.value)
        return known
    with np.errstate(over="ignore"):
        new = leaf(aval((), dtype), np.array(value, dtype), NUMBER)
    if value == value and (value or str(value)[0] != "-"):
        if len(_numbers) > 4096:
            _numbers.clear()
        _numbers[key] = new
    return new


def constant(array: Any) -> Node:
    """Return a leaf that holds a NumPy array (the library's own copy) or a JAX array; in a graph a `Const` op."""
    graph = current_graph()
    if graph is not None:
        made: Node = graph.constant(array)
        return made
    if local.trace.scope is None:
        return leaf(aval(array.shape, array.dtype), array)
    made = leaf(aval(array.shape, array.dtype), array, INSIDE)
    if made.aval.inexact:
        local.trace.constants.append(made)
    return made


# ---------------------------------------------------------------------------------------------------------------------
# Running


def value(node: Node) -> Any:
    """Return the value of `node`, a JAX or NumPy array; run pending nodes if need be (rule 1)."""
    if node.value is None and (supposed := _realize(node)) is not None:
        return supposed
    return node.value


def peek(node: Node) -> None:
    """Evaluate one pending node and its ancestors; leave the rest of the trace pending.

    It serves ops that need a value in mid-step, such as indices or labels. A node with many ancestors is left to `value`.
    """
    if node.value is None and node.trace is (trace := local.trace) and trace.parent is None and not execution.count(node, SMALL):
        program, positions = slices.slice_trace(trace, [node.index])
        if program.size > SMALL:
            return
        arguments = slices.arguments(trace.leaves, positions, False)
        (node.value,) = execution.execute(execution.first_made(program), arguments)
        trace.early.append(node)


def ready(node: Node) -> Any:
    """Wait for the value of `node` and return it, so that an error of the run is raised at this call."""
    result = value(node)
    try:
        return result if isinstance(result, (np.ndarray, np.generic)) else result.block_until_ready()
    except jax.errors.JaxRuntimeError as error:
        raise memory.translated(error) from None


def _realize(node: Node) -> Any:
    """Compute and store the value of a node; where a trace needs only shapes, return a supposed value instead."""
    state = local
    trace = state.trace
    if trace.parent is not None:
        return _realize_in_trace(trace, node)
    if node.trace is not trace:
        reference = adopt(trace, node)
        if node.value is None:
            again = trace.nodes[reference]
            again.handle = wanted
            flush()
            node.value = again.value if node.value is None else node.value
        return None
    handle, node.handle = node.handle, wanted
    try:
        flush()
    finally:
        node.handle = handle
    return None


def _realize_in_trace(trace: Trace, node: Node) -> Any:
    """Evaluate a node while a function is traced; NeedsValues unless it is eager code's, or depends on constants alone."""
    outermost = trace
    while outermost.parent is not None:
        outermost = outermost.parent
    if node.trace is not None and node.trace.parent is None:  # a node of eager code, maybe of an earlier trace
        with recording_in(outermost):
            return _realize(node)
    if trace.scope is not None and (found := constant_folding.folded(node)) is not None:
        node.value = found
        return None
    graph = graph_around()
    if graph is not None and (found := graph.supposed(node)) is not None:
        return found
    if graph is None and guided() and (found := constant_folding.folded(node, numbers=True)) is not None:
        return found  # the value at the extents of the call that guides the trace
    error = NeedsValues(f"Python {errors.WITHOUT_VALUES}", errors.KEEP_SIZES)
    error.node = node
    raise error


def taped() -> bool:
    """Return whether a tape records the thread's ops."""
    return any(tape() is not None for tape in local.tapes)


def symbolic(node: Node) -> bool:
    """Return whether a node has no value because it depends on the inputs of a function or graph.

    Outside of a trace, every node of a function counts, even one that depends on constants alone.
    """
    if node.value is not None or (node.trace is not None and node.trace.parent is None):
        return False
    return local.trace.parent is None or local.trace.scope is None or constant_folding.folded(node) is None


def wanted() -> object:
    """Stand for the handle of a node while its value is computed, so that the node is live."""
    return wanted


def flush() -> None:
    """Run the thread's pending trace: compute all values that are still reachable, in one program."""
    state = local
    trace = state.trace
    if not trace.nodes and not (execution.eager and trace.assigned):  # a failure of a later op does not undo assignments
        return
    state.trace = following = Trace(LIMIT if state.anchor is None else STRIDE, overrides=trace.overrides)
    for tape in filter(None, [reference() for reference in trace.tapes]):
        tape.moved(trace, following)
    for later in state.suspended:  # functions under trace get the new trace as their parent
        if later[0] is trace:
            later[0] = following
        elif later[0].parent is trace:
            later[0].parent = following
    run(trace)


def flush_if_outermost() -> None:
    """Run the pending trace unless a function or gradient is being traced."""
    if local.trace.parent is None:
        flush()


def _cut(trace: Trace) -> Trace:
    """Cut a trace that has grown too long, if possible at the start of an iteration of the user's loop (rule 3)."""
    runtime.check_not_forked()
    state = local
    if len(trace.nodes) >= LIMIT:
        state.anchor = journal.loop_anchor([(n.code, n.offset) for n in trace.nodes])
    elif line_outside() != state.anchor:
        return trace
    flush()
    return state.trace


def run(trace: Trace) -> None:
    """Compute the reachable values of a trace whose recording has ended."""
    nodes = trace.nodes
    execution.counters.runs += 1
    if len(nodes) > execution.counters.most_pending:
        execution.counters.most_pending = len(nodes)
    structure, (program, positions, outputs, _) = slices.of(trace)
    if program is not None:
        try:
            arguments = slices.arguments(trace.leaves, positions, program.compiled is not None)
            values = execution.execute(program, arguments, local.again)
        except BaseException:
            slices.undo(trace)
            raise
    with shared:
        if program is not None:
            for index, computed in zip(outputs, values, strict=True):
                if nodes[index].value is None:
                    nodes[index].value = computed
            for original, again in trace.recomputed:
                if again.value is not None and original.value is None:
                    original.value = again.value
        slices.retire(trace, structure, outputs)


def argument(node: Node) -> Any:
    """Return the value of a node, as an argument of a Program that runs at once."""
    if node.value is None:
        _realize(node)
    value = node.value
    return slices.argument_of(node, True) if type(value) is np.ndarray and node.trace is None else value
