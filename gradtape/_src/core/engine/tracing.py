"""Inner traces of functions, gradients, branches and loop bodies; closing one into a Program, calling and inlining that."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from gradtape._src.core.base.ambient import anew, declare, field, setting
from gradtape._src.core.engine import engine, execution
from gradtape._src.core.programs.op import Attributes, Op
from gradtape._src.core.programs.program import (
    CALL,
    ELEMENT,
    Key,
    Node,
    Program,
    Trace,
    effectful,
    leading_to,
    leaf,
    memoized,
)
from gradtape._src.core.programs.structured import StructuredOp, arity
from gradtape._src.core.values.aval import Aval

FORWARD = "forward"  # key in `Program.derived`: the forward Program of a gradient whose own derivative needs its values


@contextlib.contextmanager
def inner(scope: Any = None) -> Iterator[Trace]:
    """Record into a new Trace, which is yielded; nodes of the surrounding trace are its leaves.

    `scope` is the Scope of a function that is being traced; by default the surrounding one. With a `scope`, the state of a
    surrounding call, such as its names in a graph, starts anew.
    """
    outer = engine.local.trace
    trace = Trace(engine.UNBOUNDED, outer, outer.overrides, outer.scope if scope is None else scope)
    with contextlib.nullcontext() if scope is None else anew(), engine.recording_in(trace):
        yield trace


class _Fields:
    """The state of the functions that a thread traces or runs eagerly.

    `functions`: the depth of nested functions and session runs that execute as eager code. `asking`: the trace in which only
    shapes are requested. `creation`: the Creation of the innermost function under trace.
    """

    functions: int = field(0, per_replica=True)
    asking: Trace | None = field(None, per_replica=True)
    creation: Creation | None = field(None, per_replica=True)


local = declare(_Fields)


def as_function() -> setting:
    """Open a context for a function that runs op by op; `tf.executing_eagerly` is False inside."""
    return setting(functions=local.functions + 1)


@contextlib.contextmanager
def outside(graph: bool = False) -> Iterator[None]:
    """Record in the thread's eager trace, without tapes, whatever is being traced. `graph`: or in the surrounding graph."""
    trace = engine.local.trace
    while trace.parent is not None:
        if graph and (around := engine.current_graph(trace)) is not None and not around.building_function:
            break
        trace = trace.parent
    with setting(functions=0), contextlib.nullcontext() if engine.local.trace.parent is None else engine.recording_in(trace):
        yield


def asking_for_shapes() -> setting:
    """Open a context in which only shapes are requested: ops return tensors without values.

    It does not extend to functions traced inside, which would keep such results.
    """
    return setting(asking=engine.local.trace)


def is_asked_for_shapes() -> bool:
    """Return whether the current trace needs only the shapes of results."""
    return local.asking is engine.local.trace


class Creation:
    """The variables created while a function is traced, in `init_scope` too.

    If `refusal` is set, creating one raises ValueError with that text. `around` is the Creation of the surrounding function.
    """

    def __init__(self, refusal: str | None, around: Creation | None) -> None:
        self._refusal, self.around = refusal, around
        self.variables: list[Any] = []

    def made(self, variable: Any) -> None:
        """Note a new variable."""
        if self._refusal is not None:
            raise ValueError(self._refusal)
        self.variables.append(variable)


@contextlib.contextmanager
def creation_in_function(refusal: str | None) -> Iterator[Creation]:
    """Open a context for the trace of a function, and yield its Creation. Functions traced inside have their own."""
    creation = Creation(refusal, local.creation)
    with setting(creation=creation):
        yield creation


def made(variable: Any) -> None:
    """Note a new variable for the innermost function that is being traced in this thread."""
    if local.creation is not None:
        local.creation.made(variable)


def is_creating() -> bool:
    """Return whether a function is being traced whose new variables are noted."""
    return local.creation is not None


def trace_again(variable: Any) -> None:
    """Make all functions under trace in this thread be traced once more, by noting `variable` as created in each."""
    creation = local.creation
    while creation is not None:
        creation.variables.append(variable)
        creation = creation.around


def enter(trace: Trace, nodes: Sequence[Node]) -> list[int]:
    """Return the references of nodes in a trace; nodes from outside of it become leaves."""
    known = trace.leaf_index
    return [node.index if node.trace is trace else known[node] if node in known else engine.adopt(trace, node) for node in nodes]


def close(
    trace: Trace,
    outputs: Sequence[Node],
    parameters: Sequence[Node],
    effects: bool = False,
    kept: list[int] | None = None,
    targets: Sequence[Node] = (),
) -> Program:
    """Close a trace into a Program: `outputs` are nodes, `parameters` the nodes that its callers will give values for.

    Leaves that are not parameters must hold values, and become constants of the Program. `effects` keeps effects, and the checks
    that `targets` and the outputs need; a gradient must not repeat those of its forward pass. The trace indices of the Program's
    nodes are appended to `kept`.
    """
    references = enter(trace, outputs)
    position: dict[Node, int] = {}
    for node in parameters:
        position.setdefault(node, len(position))
    wanted, keys = set(references), [n.key for n in trace.nodes]
    if effects:
        wanted.update([index for index, key in enumerate(keys) if effectful(key)])
        wanted |= _guards_before(keys, [n.index for n in targets if n.trace is trace])
    wanted, kept = leading_to(keys, wanted), [] if kept is None else kept
    kept += sorted([r for r in wanted if r >= 0])
    constants: list[Node] = []
    leaf_position = {}
    for index, node in enumerate(trace.leaves):
        where = position.get(node)
        if where is None:
            if -1 - index not in wanted:
                continue
            where = len(parameters) + len(constants)
            constants.append(node)
        leaf_position[-1 - index] = -1 - where
    renumbered = leaf_position | {index: new for new, index in enumerate(kept)}
    heads = _used_guards(keys, kept, references) if effects else [_quiet(*keys[i][:2]) for i in kept]
    sliced = tuple([(*head, *[renumbered[r] for r in keys[i][2:]]) for head, i in zip(heads, kept, strict=True)])
    avals = tuple([trace.nodes[i].aval for i in kept])
    return Program(
        sliced,
        avals,
        tuple([n.aval for n in (*parameters, *constants)]),
        tuple([renumbered[r] for r in references]),
        tuple([np.asarray(engine.value(n)) for n in constants]),
        tuple([(trace.nodes[i].code, trace.nodes[i].offset) for i in kept]),
    )


def program_of(record: Callable[..., Sequence[Node]], parameters: Sequence[Aval]) -> Program:
    """Return the Program of the ops that `record` records on nodes of these Avals; its results are the outputs.

    Overrides of gradients around the caller apply to ops of the user, and not to these.
    """
    leaves = [leaf(a, None) for a in parameters]
    with inner() as trace:
        trace.overrides = None
        return execution.intern(close(trace, record(*leaves), leaves))


def _guards_before(keys: Sequence[Key], references: Sequence[int]) -> set[int]:
    """Return the ancestors of these nodes that check values; calls, branches and loops with checks include their results."""
    reached = leading_to(keys, references)
    nodes = [(i, *keys[i][:2]) for i in reached if i >= 0]
    found = {i for i, op, attrs in nodes if op.guards or any(p.guarded for p in op.programs(attrs))}
    return found | {i for i in reached if i >= 0 and keys[i][0] is ELEMENT and keys[i][2] in found}


def _used_guards(keys: Sequence[Key], kept: Sequence[int], outputs: Sequence[int]) -> list[Key]:
    """Return `(op, attributes)` of these nodes; a call keeps only the checks that its used results need."""
    read: dict[int, set[int]] = {}
    for index in kept:
        if keys[index][0] is ELEMENT:
            read.setdefault(keys[index][2], set()).add(keys[index][1][0])
    heads = []
    for index in kept:
        op, attrs = keys[index][:2]
        if op.is_call and attrs[0].guarded and index not in outputs:
            attrs = op.with_programs(attrs, [_guarded_for(attrs[0], tuple(sorted(read.get(index, ()))))])
        heads.append((op, attrs))
    return heads


@memoized
def _guarded_for(program: Program, live: tuple[int, ...]) -> Program:
    """Return a Program with only the checks that its effects and its outputs at the positions `live` need."""
    keys, outputs = program.keys, program.outputs
    wanted = {outputs[i] for i in live if i < len(outputs)} | {i for i, key in enumerate(keys) if effectful(key)}
    used = _guards_before(keys, list(wanted))
    made = tuple([key if i in used or not key[0].guards else (key[0].plain, *key[1:]) for i, key in enumerate(keys)])
    if made == keys:
        return program
    return execution.intern(
        Program(made, program.avals, program.parameters, outputs, program.constants, program.lines, program.precision)
    )


def _quiet(op: Op, attrs: Attributes) -> Key:
    """Return an op and its attributes without checks; its Programs lose their effects, too."""
    if isinstance(op, StructuredOp) and any(body.program.demands or body.program.guarded for body in op.bodies(attrs)):
        return op, op.with_programs(attrs, [without_effects(body.program) for body in op.bodies(attrs)])
    return op.plain, attrs


def without_effects(program: Program) -> Program:
    """Return a Program without the ops that only have effects, and without checks."""
    return _quietened(program) if program.demands or program.guarded else program


@memoized
def _quietened(program: Program) -> Program:
    made = program_of(lambda *given: inline(program, given), program.parameters[: arity(program)])
    if FORWARD in program.derived:
        made.derived[FORWARD] = program.derived[FORWARD]
    return made


def call(program: Program, inputs: tuple[Node, ...], op: Op = CALL) -> list[Node]:
    """Append a call of `program` on nodes; return the nodes of its outputs."""
    return engine.elements(engine.record(op, inputs, (program,)))


def call_at_once(op: Op, inputs: tuple[Node, ...], attrs: Attributes) -> list[Node]:
    """Record an op that holds Programs; return the nodes of its results.

    In eager code it runs at once if its Programs check values: the call itself raises the error, and earlier ops keep their
    values.
    """
    at_once = engine.local.trace.parent is None and any(p.guarded for p in op.programs(attrs))
    if at_once:
        engine.flush()
    nodes = engine.elements(engine.record(op, inputs, attrs))
    if at_once:
        for node in nodes:
            node.handle = engine.wanted
        try:
            engine.flush()
        finally:
            for node in nodes:
                node.handle = None
    return nodes


def inline(program: Program, inputs: Sequence[Node]) -> list[Node]:
    """Record the ops of `program` one by one, on nodes and at their lines; return the nodes of its outputs.

    If the inputs have the Avals of the parameters, the recorded Avals are reused: some depend on values and cannot be inferred.
    """
    leaves = [*inputs, *[engine.constant(c) for c in program.constants]]
    nodes: list[Node] = []
    trace = engine.local.trace
    same = trace.parent is not None and trace.overrides is None
    same = same and all(n.aval is a for n, a in zip(inputs, program.parameters, strict=False))
    for index, (op, attrs, *references) in enumerate(program.keys):
        given = tuple([nodes[r] if r >= 0 else leaves[-1 - r] for r in references])
        nodes.append(engine.record_as(op, given, attrs, program.avals[index]) if same else engine.record(op, given, attrs))
    for node, line in zip(nodes, program.lines, strict=False):
        node.code, node.offset = line
    return [nodes[r] if r >= 0 else leaves[-1 - r] for r in program.outputs]
