"""Tracing: a Python function, run once on symbols, becomes a Program with lists of its inputs and outputs."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeVar

import numpy as np

from gradtape._src.control.passed import Passed
from gradtape._src.core.base import hooks
from gradtape._src.core.base.ambient import declare, field, setting
from gradtape._src.core.declarations.define import verify
from gradtape._src.core.engine import constant_folding, engine, execution, slices, tracing
from gradtape._src.core.programs import guards, journal, transcript
from gradtape._src.core.programs.function_names import operation_names
from gradtape._src.core.programs.op import Attributes, Op, define
from gradtape._src.core.programs.program import FUNCTION, NUMBER, Line, Node, Program, Trace, leaf, leaves
from gradtape._src.core.programs.traits import Trait
from gradtape._src.core.programs.transcript import Inner, Transcript
from gradtape._src.core.tensors import nest
from gradtape._src.core.tensors.convert import tensor
from gradtape._src.core.tensors.tensor import Tensor, handle
from gradtape._src.core.tensors.variable import Variable, hold_all, put_all, still_hold
from gradtape._src.core.tensors.variable_ops import ASSIGN, ASSIGN_ADD, ASSIGN_SUB
from gradtape._src.core.values import dim
from gradtape._src.core.values.aval import Aval, has_no_rank
from gradtape._src.core.values.ways import Guide, Path, first_way
from gradtape._src.ops.random import seeds

T = TypeVar("T")
ASSIGNMENTS = (ASSIGN, ASSIGN_ADD, ASSIGN_SUB)
SINGLETON = (
    "tf.function only supports singleton tf.Variables created on the first call. Make sure the tf.Variable is only created once "
    "or created outside tf.function. See https://www.tensorflow.org/guide/function#creating_tfvariables for more information.\n"
    "Write `if self.v is None: self.v = tf.Variable(…)`; build a layer, model or optimizer before the call, by its `build`."
)
SHAPED_BY_RUNS = "a Python function whose results have shapes that no TensorSpec in Tout states"
LARGE_CONSTANT = 1 << 14  # constants with more elements become arguments of the program


# Returns the assigned value; for gradients it is a read of the variable (assignment itself passes none on).
def _first(value: Any, variable: Any) -> Any:
    return value


def _to_variable(op: Any, dy: Any) -> list[Any]:
    return [None, dy]


READ_ASSIGNED = define(
    Op("ReadAssigned", _first, infer=_first, cheap=True, strings=_first, gradient=_to_variable, traits="own renames")
)


class _Fields:
    """Whether an `if` on a tensor may return in one branch only in the function under trace, and whether one did."""

    may_return_partly: bool = field(True, per_replica=True)
    returned_partly: bool = field(False, per_replica=False)


local = declare(_Fields)


class MadeFromArguments(engine.NeedsValues):
    """A function creates a variable whose initial value depends on the function's arguments."""


class Scope:
    """The state of a function, branch or loop body under trace: the variables that it reads and writes, and its other effects."""

    def __init__(
        self,
        nested: bool = False,
        carried: Sequence[tuple[Variable, Node]] = (),
        creates: bool | None = None,
        shaped_by_runs: bool = False,
        trip: Node | None = None,
        through: Any = None,
        streams: Any = None,
    ) -> None:
        self.nested = nested
        self.creates = creates  # None: variables may be created, in a branch or loop while a function is traced
        self.streams = streams  # the random streams of other traces of the function, which this one continues
        self.through = through  # makes loops that run on the host, where these are possible
        self.elements: Any = None  # takes elements of iterators, where a call can draw them
        self.loops, self.rebound = 0, list[Callable[[], None]]()  # `rebound` restores the names that loops on the host bind
        self.shaped_by_runs = shaped_by_runs  # whether results may have shapes that depend on values
        self.fixes_strings = not nested  # strings of another branch or session run may differ
        self.variables: dict[int, tuple[Variable, Node]] = {}
        self.looked_at: dict[int, tuple[Variable, Aval]] = {}  # variables of unknown extents, read before they are assigned
        self.carried: dict[int, Node] = {id(variable): node for variable, node in carried}
        self.now: dict[int, Node] = {}
        self.written: dict[int, Variable] = {}
        self.after: dict[int, Node] = {}  # the values of `written`
        self.targets: list[Node] = []  # the targets of gradients taken in it
        self.created: list[Variable] = []
        self.inside: list[Inner] = []  # the bodies in it that have tapes
        self.trace: Trace | None = None
        self.draws: seeds.Draws | None = None  # None: the outer function draws
        self.trip, self.counted, self.unseeded = trip, False, 0  # a branch, like a function, counts from 0
        self.collections: dict[Any, list[Any]] | None = None  # a graph's collections, as the function sees them
        self.locks: dict[Any, None] = {}  # the locks of its critical sections
        self.calls: list[Any] = []  # calls of functions that have other implementations
        self.rounds: list[Any] = []  # rounds of replicas: the nodes of each, and their mesh

    def forget(self) -> None:
        """Drop the variables, as a trace and its nodes form a cycle, which is left to the garbage collector."""
        self.trace, self.variables, self.written, self.created, self.through, self.elements = None, {}, {}, [], None, None
        self.calls = []

    def restore(self) -> None:
        """Remove the trace's tensors from attributes and globals that loops over Datasets have bound."""
        while self.rebound:
            self.rebound.pop()()

    def read(self, variable: Variable) -> Node:
        """Return the node of the variable's present value; at first it is a parameter.

        A loop's carry passes no gradient to a variable. So a read of a carried variable adds the variable as a parameter, too.
        """
        if variable._declared is not None and id(variable) not in self.written:
            self.looked_at[id(variable)] = variable, self._begun(variable).aval
        return self._begun(variable)

    def _begun(self, variable: Variable) -> Node:
        node = self.now.get(id(variable))
        if node is None:
            node = self.carried.get(id(variable))
            if node is None or node.aval.inexact:
                origin = leaf(self._outside(variable), None)
                self.variables[id(variable)] = (variable, origin)
                node = origin if node is None else engine.record(READ_ASSIGNED, (node, origin))
            self.now[id(variable)] = node
        return node

    def _outside(self, variable: Variable) -> Aval:
        """Return the Aval of a variable in the outer traces, which may have changed an unknown extent."""
        around = None if variable._declared is None or self.trace is None else self.trace.parent
        while around is not None and isinstance(scope := around.scope, Scope):
            node = scope.now.get(id(variable), scope.carried.get(id(variable)))
            if node is not None:
                return node.aval
            around = around.parent
        return variable._tensor.node.aval

    def hold(self, variable: Variable, node: Node) -> None:
        """Note an assignment. For an outer tape, later uses of the value are reads of the variable, too."""
        before = self._begun(variable)
        origin = self.variables.get(id(variable))
        if node.aval.inexact and node.op not in ASSIGNMENTS:  # an op with branches or a loop may have left the variable unchanged
            node = engine.record(ASSIGN, (node,))
        self.after[id(variable)] = node
        self.written[id(variable)] = variable
        same = node.aval is before.aval or variable._declared is not None
        if node.aval.inexact and same and origin is not None:
            node = engine.record(READ_ASSIGNED, (node, origin[1]))
        self.now[id(variable)] = node

    def made(self, variable: Variable) -> None:
        """Note a new variable; ValueError if the function may not create any."""
        if self.creates is False:
            raise ValueError(SINGLETON)
        if self.creates is None and self.nested and not tracing.is_creating():
            raise engine.NeedsValues("in eager code each trip creates its own variable")
        self.created.append(variable)

    def initial(self, node: Node) -> Any:
        """Return a variable's initial value that the function computed from constants and random numbers."""
        return initial_value(engine.local.trace, node)

    def guarded(self, op: Op, nodes: tuple[Node, ...], attrs: Attributes) -> Op:
        """Return the op to record for one that checks its values when it runs; known values are checked now.

        In a branch or loop they are not checked now, as it need not run.

        A gradient, which has a trace of its own inside of the function's, does not check values.
        """
        if self.trace is not None and engine.local.trace is not self.trace:
            return op
        always = Trait.DEMANDED in op.traits
        if always and not self.nested and all(constant_folding.folded(node) is not None for node in guards.checked(op, nodes)):
            verify(op, nodes, attrs)
            return op.plain
        return op.guarded(always)

    def differentiated(self, targets: Sequence[Node]) -> None:
        """Note the targets of a gradient, which count as used even if they are no results."""
        self.targets += targets


def loops_on_host(scope: Any) -> bool:
    """Return whether the host can run loops of the function under trace, whose scope this is."""
    return isinstance(scope, Scope) and scope.through is not None and engine.local.trace is scope.trace


def initial_value(trace: Trace, node: Node) -> Any:
    """Return the value of a trace's node that depends on constants and random numbers only; else MadeFromArguments."""
    drawn = dict(seeds.drawn())
    try:
        program = tracing.close(trace, [node], list(drawn))
    except NotImplementedError:
        raise MadeFromArguments("a variable's initial value depends on the function's arguments") from None
    (value,) = execution.execute(program, [stream.again().draw() for stream in drawn.values()])
    return value


class ResultStructure:
    """The nest of a traced function's arguments or results: tensors, and constants."""

    __slots__ = ("fixed", "spec")

    def __init__(self, spec: Any, fixed: list[Any]) -> None:
        self.spec, self.fixed = spec, fixed

    def pack(self, nodes: Sequence[Node]) -> Any:
        """Pack nodes as tensors into the nest."""
        return self.fill(map(handle, nodes))

    def fill(self, values: Iterable[Any]) -> Any:
        """Fill values into the nest, at the places of its tensors."""
        remaining = iter(values)
        return self.spec.unflatten([next(remaining) if f is TENSOR else f for f in self.fixed])


TENSOR = object()


def flatten_results(
    results: Any, convert: Callable[[Any], Any], fixed_strings: bool = True
) -> tuple[list[Node], ResultStructure]:
    """Return the nodes of a nest of results, and its ResultStructure. `convert` makes a Tensor of a leaf, or keeps it.

    With `fixed_strings`, known strings are constants of the structure. They are not part of the Program, which would have to run
    in stages.
    """
    leaves, spec = nest.flatten_with_spec(results, nest.EXPANDED)
    nodes, fixed = [], []
    for item in leaves:
        item = convert(item)
        known = fixed_strings and isinstance(item, Tensor) and item.dtype.name == "string" and item.node.value is not None
        if isinstance(item, Tensor) and not known:
            nodes.append(item.node)
            fixed.append(TENSOR)
        else:
            fixed.append(item)
    return nodes, ResultStructure(spec, fixed)


def tensor_or_none(value: Any) -> Any:
    """Convert a result of a function to a Tensor; keep None."""
    return None if value is None else tensor(value)


@dataclass(frozen=True, eq=False, slots=True)
class Traced:
    """A traced function. Its `program` takes arguments, the values of `variables`, `captures`, and seeds for `draws`.

    It gives the results, in their `structure`, then the new values of the variables in `written`.
    """

    program: Program
    structure: ResultStructure
    captures: Sequence[Node] = ()
    keep: Sequence[Tensor] = ()  # the captures as tensors, to keep their values alive
    variables: Sequence[Any] = ()  # Variables, or a Passed for an argument
    written: Sequence[Any] = ()
    draws: Sequence[Any] = ()
    looked_at: Sequence[tuple[Variable, Aval]] = ()  # the variables of unknown extents that it reads, with their Avals
    trains: bool = False  # whether it assigns variables and takes gradients
    created: Sequence[Variable] = ()
    transcript: Transcript | None = None  # the record for the explainer, if it has a tape
    names: Sequence[str] | None = None  # the nodes' names, if the user named some or opened name scopes
    passed: Sequence[Variable] = ()  # the variables that the call passes
    locks: Sequence[Any] = ()  # of its critical sections
    loops: int = 0  # the number of loops that run on the host
    takes: Sequence[Any] = ()  # the elements of iterators that a call draws, as additional arguments
    streams: Any = None  # random streams, shared with its traces for other shapes
    way: Path | None = None  # the path on which it was traced with symbols

    avals: list[Aval] = dataclasses.field(init=False)  # of the results, and of the new values of variables
    updated: list[int] = dataclasses.field(init=False)  # the positions in `variables` of those also written
    assignments: list[Line] = dataclasses.field(init=False)  # the lines that assign the variables in `written`
    shaped_by_runs: bool = dataclasses.field(init=False)  # whether values have unknown ranks, and no graph keeps their calls

    def __post_init__(self) -> None:
        lines, outputs, written = self.program.lines, self.program.outputs, set(map(id, self.written))
        assigning = outputs[len(outputs) - len(self.written) :]
        put = object.__setattr__  # the dataclass is frozen
        put(self, "avals", list(self.program.results))
        put(self, "updated", [i for i, v in enumerate(self.variables) if id(v) in written])
        put(self, "assignments", [lines[r] if r >= 0 and lines else (None, 0) for r in assigning])
        put(self, "shaped_by_runs", has_no_rank(tuple(self.program.avals)) and engine.graph_around() is None)

    def passing(self, variables: Sequence[Variable]) -> Traced:
        """Return a copy in which each call passes these variables as arguments."""
        numbers = {id(variable): Passed(number) for number, variable in enumerate(variables)}
        if self.transcript is not None:
            self.transcript.passed = [variable._uid for variable in variables]
        return replace(
            self,
            variables=[numbers.get(id(v), v) for v in self.variables],
            written=[numbers.get(id(v), v) for v in self.written],
            looked_at=[(v, a) for v, a in self.looked_at if id(v) not in numbers],  # those are in the call's key
        )

    def with_passed(self, variables: Sequence[Variable]) -> Traced:
        """Return a copy for a call that passes these variables; fields that depend on the program are not computed again."""
        used, written = [
            [variables[v.number] if isinstance(v, Passed) else v for v in stated] for stated in (self.variables, self.written)
        ]
        made = object.__new__(Traced)
        for name in Traced.__slots__:
            put_slot[name](made, getattr(self, name))
        for name, value in (("variables", used), ("written", written), ("passed", variables)):
            put_slot[name](made, value)
        return made

    def inputs(self, arguments: Sequence[Node]) -> tuple[Node, ...]:
        """Return the inputs of a call with these `arguments`: then present values of variables, captures, new seeds."""
        return (*arguments, *[v.read() for v in self.variables], *self.captures, *self.seeds())

    def seeds(self) -> list[Node]:
        """Draw new seeds for the random ops of a call."""
        return [seeds.again(stream).node for stream in self.draws]


put_slot = {name: vars(Traced)[name].__set__ for name in Traced.__slots__}
# Stands for a function that runs op by op.
UNTRACED = Traced(Program((), (), (), ()), ResultStructure(nest.flatten_with_spec(None)[1], [None]))


class Draft:
    """A function that ran on symbols, with its record, which is closed when it is known what the Program takes and gives.

    `results` are nodes, in a `structure`. By the id of a variable, `reads` has each that it reads with its leaf, and `after` the
    last value of each that it assigns. `asks` says whether it asks for gradients.
    """

    structure: ResultStructure

    def __init__(self, trace: Trace, scope: Scope, parameters: Sequence[Node]) -> None:
        self.trace, self.scope, self.parameters = trace, scope, parameters
        self.reads, self.after, self._written = scope.variables, scope.after, scope.written
        self.results, self.asks = list[Node](), False
        self._around = _constants_around(trace) if scope.nested else set[Node]()

    @property
    def variables(self) -> list[Variable]:
        """The variables that it reads."""
        return [variable for variable, _ in self.reads.values()]

    @property
    def written(self) -> list[Variable]:
        """The variables that it assigns."""
        return [*self._written.values()]

    @property
    def captures(self) -> list[Node]:
        """The nodes from outside that it uses, without constants."""
        tracing.enter(self.trace, [*self.results, *self.after.values()])
        known = {*self.parameters, *[node for _, node in self.reads.values()], *[node for node, _ in self.scope.draws or ()]}
        return [n for n in self.trace.leaves if n not in known and not self.holds(n)]

    def holds(self, node: Node) -> bool:
        """Return whether a node is a constant of its Program. Gradients with respect to constants around it are possible."""
        return is_constant(node) and node not in self._around

    def gives(self, make: Callable[[], Any]) -> None:
        """Replace the results by those of `make`, which computes with them."""
        with engine.recording_in(self.trace):
            self.results, self.structure = flatten_results(make(), tensor_or_none, fixed_strings=False)

    def program(self, inputs: Sequence[Node], outputs: Sequence[Node], kept: list[int] | None = None) -> Program:
        """Close the record into a Program that takes `inputs`; `kept` gets the numbers of its nodes."""
        closed = tracing.close(self.trace, outputs, inputs, effects=True, kept=kept, targets=self.scope.targets)
        return execution.intern(closed)

    def closed(self, inputs: Sequence[Node], outputs: Sequence[Node], number: int = 0) -> Program:
        """Close a branch or loop body of the next op, branch `number` of it. It takes `inputs`, then its own parameters."""
        inputs = [*inputs, *self.parameters]
        program = self.program(inputs, outputs)
        if (script := self.transcript(inputs)) is not None:
            script.placed = len(engine.local.trace.nodes), number
        return program

    def transcript(self, inputs: Sequence[Node], failed: bool = False) -> Transcript | None:
        """Return the Transcript, if it has tapes. The function around a branch or loop, or a `failed` one, gets it, too."""
        scope, outer = self.scope, self.trace.parent and self.trace.parent.scope
        if not (scope.inside or self.trace.tapes or self.asks):
            return None
        variables = [(variable, [node, scope.now.get(key, node)]) for key, (variable, node) in self.reads.items()]
        found = transcript.of(self.trace, inputs, self.results, variables, scope.inside)
        if isinstance(outer, Scope) and (scope.nested or failed):
            outer.inside.append(Inner(found))
        elif failed:
            transcript.ran(found, (), (), (), None)
        return found


class Outside:
    """The outside inputs of several bodies, without duplicates: `variables`, which are read, and `captures`."""

    def __init__(self, bodies: Sequence[Draft | Traced], written: Sequence[Variable] = ()) -> None:
        self.variables = list({id(v): v for v in (*[v for body in bodies for v in body.variables], *written)}.values())
        self.captures = list({node: None for body in bodies for node in body.captures})

    def inputs(self) -> list[Node]:
        """Return the present values of the variables, and the captures."""
        return [*[v.read() for v in self.variables], *self.captures]

    def within(self, body: Draft) -> list[Node]:
        """Return the nodes that stand for the inputs in a body, in which a variable that it does not read gets a new leaf."""
        read = [body.reads[id(v)][1] if id(v) in body.reads else leaf(v.aval, None) for v in self.variables]
        return [*read, *self.captures]


def is_constant(node: Node) -> bool:
    """Return whether a leaf of a trace is a constant of its Program: a Python number, or a small tensor created in it."""
    return node.index == NUMBER or (node.index == engine.INSIDE and node.aval.size <= LARGE_CONSTANT)


def _constants_around(trace: Trace) -> set[Node]:
    """Return the constants of the traces around a branch or loop, which are captures and not constants of its Program."""
    found: set[Node] = set()
    outer = trace.parent
    while outer is not None and outer.scope is not None:
        found.update(outer.constants)
        outer = outer.parent
    return found


def trace(
    function: Callable[[], Any],
    parameters: Sequence[Node],
    scope: Scope,
    *,
    draws: bool = True,
    convert: Callable[[Any], Any] = tensor_or_none,
) -> Traced:
    """Run `function` on symbols with the leaves `parameters`; return the Traced.

    With `draws`, callers of the result pass the seeds of its random ops; else the outer function draws them.
    """
    if draws:
        scope.draws = seeds.Draws()
        scope.draws.kept = scope.streams
    try:
        traced = _closed(_run_on_symbols(function, parameters, scope, convert))
    finally:
        scope.restore()
    scope.forget()
    return traced


def draft(
    function: Callable[[], Any], parameters: Sequence[Node], scope: Scope, convert: Callable[[Any], Any] = tensor_or_none
) -> Draft:
    """Run the function of a branch or loop on symbols; return the Draft. The outer function draws its seeds."""
    made = _run_on_symbols(function, parameters, scope, convert)
    scope.forget()
    return made


def _run_on_symbols(
    function: Callable[[], Any], parameters: Sequence[Node], scope: Scope, convert: Callable[[Any], Any]
) -> Draft:
    with tracing.inner(scope) as inner, setting() if scope.nested else setting(prefix=""):
        scope.trace, asked = inner, journal.asked
        made = Draft(inner, scope, parameters)
        try:
            results = function()
        except Exception:  # its tapes are remembered, as when an optimizer got no gradients
            made.asks = journal.asked > asked
            made.transcript([*parameters, *[node for _, node in made.reads.values()]], failed=True)
            raise
        made.asks = journal.asked > asked
        made.results, made.structure = flatten_results(results, convert, scope.fixes_strings)
    return made


def on_a_way(trace: Callable[[], T], guide: Guide | None = None) -> tuple[T, Path | None]:
    """Return `trace()` and its path: the `guide`, or a new one if it takes elements of unknown extents.

    If an exploration is running already, `trace` is part of that, and the path is None.
    """
    if guide is not None or dim.local.exploration is not None:
        with setting(exploration=guide or dim.local.exploration):
            return trace(), guide
    with setting(exploration=None):
        try:
            return trace(), dim.local.exploration
        except engine.NeedsValues:
            raise
        except Exception:
            if dim.local.exploration is None:
                raise
    return first_way(trace, (engine.NeedsValues,))


def _closed(made: Draft) -> Traced:
    """Close the record of a function."""
    inner, scope, captures = made.trace, made.scope, made.captures
    read, drawn = [node for _, node in made.reads.values()], [node for node, _ in scope.draws or ()]
    inputs, kept = [*made.parameters, *read, *captures, *drawn], list[int]()
    script = made.transcript(inputs)
    program = made.program(inputs, [*made.results, *made.after.values()], kept)
    program = hooks.clients.known_rounds(program, scope.rounds, kept) if scope.rounds else program
    named = inner.names and not scope.nested
    return Traced(
        program,
        made.structure,
        captures=captures,
        keep=[handle(node) for node in captures],
        variables=made.variables,
        written=made.written,
        draws=[stream for _, stream in scope.draws or ()],
        looked_at=[*scope.looked_at.values()],
        trains=bool(scope.written) and made.asks,
        created=scope.created,
        transcript=script,
        names=[*map(operation_names(inner, len(inner.nodes)).__getitem__, kept)] if named else None,
        locks=tuple(scope.locks),
        loops=scope.loops,
        takes=() if scope.elements is None else tuple(scope.elements.takes),
        streams=scope.streams,
    )


def call(body: Traced, arguments: Sequence[Node]) -> list[Node]:
    """Call a traced function in the thread's trace; return all results, including the new values of variables.

    In eager code without a tape it runs at once, since its compiled program is available.
    """
    state = engine.local
    if state.trace.parent is not None:
        return _call_in_trace(body, arguments)
    if not state.tapes or not engine.taped():
        return _run_at_once(body, arguments)
    if body.program.effects:  # an effect may wait for other threads
        return call_recorded(body, arguments)
    with engine.shared:
        return call_recorded(body, arguments)


def _call_in_trace(body: Traced, arguments: Sequence[Node]) -> list[Node]:
    """Record a call in an outer function or graph."""
    inputs = body.inputs(arguments)
    nodes = tracing.call(body.program, inputs, FUNCTION)
    if body.trains:
        journal.count_call()  # the outer function counts it, too
    scope = engine.local.trace.scope
    if body.transcript is not None and isinstance(scope, Scope):
        results = nodes[: len(nodes) - len(body.written)]
        scope.inside.append(Inner(body.transcript, [*map(journal.origin_of, inputs)], [*map(journal.origin_of, results)]))
    return assigned(body, nodes)


def call_recorded(body: Traced, arguments: Sequence[Node]) -> list[Node]:
    """Record a call in eager code, as for a tape. It runs at once if it has checks, so that the call raises their errors."""
    inputs, program = body.inputs(arguments), body.program
    at_once = program.hosted or (program.guarded and not execution.settled(program, [node.value for node in inputs]))
    nodes = run_now(program, inputs) if at_once else tracing.call(program, inputs, FUNCTION)
    if body.transcript is not None:
        _transcribe(body, body.transcript, arguments, nodes)
    return assigned(body, nodes)


def assigned(body: Traced, nodes: list[Node]) -> list[Node]:
    """Assign the variables' new values, which are the last nodes of a call; return the results."""
    count = len(nodes) - len(body.written)
    hold_all(body.written, nodes[count:])
    return nodes[:count]


def _run_at_once(body: Traced, arguments: Sequence[Node]) -> list[Node]:
    """Run a call that no tape records. This is the fast path of a training step.

    If another thread has changed a variable that the call updates, it runs again with the new value.
    """
    argument = engine.argument
    drawn = body.seeds() if body.draws else []
    while True:
        with engine.shared:  # another call assigns all its variables in one step
            held = [variable._tensor for variable in body.variables]
        taken = [*arguments, *[tensor.node for tensor in held], *body.captures, *drawn]
        # Most values are arrays on the device already; a function call for each would be slow.
        given = [v if (v := n.value) is not None and type(v) is not np.ndarray else argument(n) for n in taken]
        if body.transcript is not None:
            transcript.begin(body.transcript)
        values = execution.execute(body.program, given)
        nodes = leaves(body.avals, values)
        if not body.written:
            _note(body, arguments, nodes, given)
            return nodes
        with engine.shared:
            if still_hold(body.variables, held, body.updated) or body.program.effects:
                _note(body, arguments, nodes, given)
                count = len(nodes) - len(body.written)
                if slices.local.before is not None:
                    slices.note(zip(body.variables, held, strict=True))
                put_all(body.written, nodes[count:])
                return nodes[:count]


def _note(body: Traced, arguments: Sequence[Node], nodes: list[Node], given: Sequence[Any]) -> None:
    if not body.trains:  # a function with its own training step is not differentiated
        journal.called(arguments, body, nodes, engine.local.trace)
    if body.transcript is not None:
        _transcribe(body, body.transcript, arguments, nodes, given)


def _transcribe(
    body: Traced, script: Transcript, arguments: Sequence[Node], nodes: list[Node], given: Sequence[Any] | None = None
) -> None:
    passed = [variable._uid for variable in body.passed] if script.passed else ()
    transcript.ran(script, arguments, nodes[: len(nodes) - len(body.written)] if body.written else nodes, passed, given)


def run_now(program: Program, inputs: tuple[Node, ...]) -> list[Node]:
    """Run a Program with effects or strings at once in eager code; tapes see it as any other call."""
    values = execution.execute(program, [engine.argument(node) for node in inputs])
    node = engine.record_ran(FUNCTION, inputs, (program,), tuple(values))
    return engine.elements(node)
