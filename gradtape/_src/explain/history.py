"""The history of values, read from the journal: the steps, keyed by the origins of their values."""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Iterator, Sequence
from dataclasses import dataclass
from threading import get_ident
from typing import Any

from gradtape._src.autodiff.custom import CLOSED, CUSTOM
from gradtape._src.control.scope import Scope
from gradtape._src.core.base.reaching import reached
from gradtape._src.core.engine import engine
from gradtape._src.core.programs import journal
from gradtape._src.core.programs.journal import Line, Moment, Origin
from gradtape._src.core.programs.op import Op
from gradtape._src.core.programs.program import ELEMENT, RAN, Node, Program, Trace
from gradtape._src.core.programs.structured import GRADIENT, VALUE, HeldProgram, StructuredOp
from gradtape._src.core.tensors.variable_ops import ASSIGN_ADD, ASSIGN_SUB, READ
from gradtape._src.explain.inside import Inside
from gradtape._src.explain.source import NO_LINE
from gradtape._src.ops.array.shape import _identity

Name = tuple[Any, ...]  # an Origin; a value inside of a function: (origin of the call, …, number)
ELSEWHERE = -1
RESULT = "result"  # the kind of step for a call's results and parameters, which have no op of their own
COPIES = {READ, _identity.op}


def opens(op: Op | None) -> bool:
    """Return whether an op runs Programs that the history enters. Custom gradients stay closed."""
    return isinstance(op, StructuredOp) and op.kind not in (GRADIENT, VALUE)


@dataclass(slots=True, eq=False)
class Step:
    """One op that ran: `name` is its value's name, `inputs` are the names of its operands.

    `at` is the moment of recording, inside of a function that of the call. `thread` is the recording thread (None: unknown,
    ELSEWHERE: another one). `how` is the op's type, or the kind of a Link. `hidden` are the values that the function of a custom
    gradient computed; their own gradients are not used.
    """

    name: Name
    op: Op | None
    attrs: tuple[Any, ...]
    inputs: Sequence[Name]
    line: Line
    at: Moment
    thread: int | None
    how: str = ""
    hidden: Sequence[Name] = ()

    def __post_init__(self) -> None:
        self.how = self.how or ("" if self.op is None else self.op.type)

    @property
    def of_shapes(self) -> bool:
        """Whether the op reads only the shapes of its inputs, not their values."""
        return self.op is not None and self.op.of_shapes


class History:
    """All steps that are remembered or pending, indexed by their results and by their inputs."""

    def __init__(
        self,
        nodes: Sequence[Node],
        traces: Iterable[Trace] = (),
        names: Iterable[Name] | None = None,
        inside: Inside | None = None,
    ) -> None:
        self.steps: dict[Name, Step] = {}
        self.avals: dict[Name, Any] = {}
        self._numbers: dict[Name, list[Any]] = {}  # name of a step with Python numbers as inputs → their Avals by position
        self.lines: dict[Name, Line] = dict(list(journal.births))  # lines of leaves
        self.held: dict[int, list[tuple[int, Name]]] = {}  # a variable's number → (serial of a trace, value held then)
        # copies, because other threads go on writing
        self.exits, self.tapes, self.calls = list(journal.exits), list(journal.tapes), list(journal.calls)
        ring = list(journal.ring)
        ran = {record.serial for record in ring}
        for record in ring:
            self._add(
                record.serial, record.thread, record.keys, zip(record.codes, record.offsets, strict=True), record.leaves,
                record.avals, dict(record.again),
            )  # fmt: skip
        for trace in [*_pending(nodes), *traces]:
            if trace.serial not in ran:
                ran.add(trace.serial)
                self._add_pending(trace)
        if inside is not None:
            self._add_inside(inside)
        for number, serial, origin in list(journal.assigned):
            self.held.setdefault(number, []).append((serial, origin))
        for variable in [reference() for reference in journal.variables.valuerefs()]:
            if variable is not None:
                node = variable._tensor.node
                self._leaf(node)
                self.held.setdefault(variable._uid, []).append((1 << 62, journal.origin_of(node)))
        for holdings in self.held.values():
            self._updated(holdings)
        self._held_in_functions()
        self.deciding: dict[Name, Name] = {}  # result of a branch or loop → name of its condition
        self.variables = {name for holdings in self.held.values() for _, name in holdings}
        self._add_links()
        if inside is not None:
            self._link(inside)
        self._open([journal.origin_of(n) for n in nodes] if names is None else names)
        self.users: dict[Name, list[Step]] = {}
        for step in self.steps.values():
            for name in dict.fromkeys(step.inputs):
                self.users.setdefault(name, []).append(step)

    def _add_links(self) -> None:
        """Enter the values that variables got without an op."""
        for link in list(journal.links):
            if link.how == "variable":
                self.variables.update(link.after)
            made = [(after, link.line, link.how) for after in link.after]
            made += [(after, line if line[0] is not None else link.line, "assign") for after, line in link.assigned]
            for after, line, how in made:
                if after not in self.steps:
                    self.steps[after] = Step(after, None, (), link.before, line, link.moment, link.thread, how)

    def _add_inside(self, inside: Inside) -> None:
        """Enter the steps that functions recorded during tracing."""
        passed = dict(zip(inside.run.transcript.passed, inside.run.passed, strict=False))
        for opened in inside.opened:
            own = opened.transcript
            self._add(own.serial, own.thread, own.keys, own.lines, own.leaves, own.leaf_avals, {})
            for number, names in own.variables:
                self.held.setdefault(passed.get(number, number), []).extend((1 << 62, name) for name in names)
        self.calls = [*dict.fromkeys([*self.calls, *inside.calls])]
        self.tapes = [*dict.fromkeys([*self.tapes, *inside.tapes])]

    def _link(self, inside: Inside) -> None:
        """Connect the functions' parameters with their arguments, and their results with the values inside."""
        for opened in inside.opened:
            own = opened.transcript
            for parameter, given in zip(own.inputs, opened.given, strict=False):
                if given is not None and given != parameter:
                    line = self.line_of(given)
                    self.steps[parameter] = Step(parameter, None, (), (given,), line, (own.serial, 0), own.thread, RESULT)
        for outer, within in inside.within.items():
            if within != outer:
                before = self.steps.get(outer)
                line, at, thread = (NO_LINE, (0, 0), None) if before is None else (before.line, before.at, before.thread)
                self.steps[outer] = Step(outer, None, (), (within,), line, at, thread, RESULT)

    def _held_in_functions(self) -> None:
        """Note the parameters that represent variables in the functions under trace."""
        trace: Trace | None = engine.local.trace
        while trace is not None:
            scope: Any = trace.scope
            for variable, node in scope.variables.values() if isinstance(scope, Scope) else ():
                now = scope.now.get(id(variable), node)
                names = [journal.origin_of(node), journal.origin_of(now)]
                self.held.setdefault(variable._uid, []).extend((1 << 62, name) for name in names)
                self._leaf(node)
            trace = trace.parent

    def _updated(self, holdings: list[tuple[int, Name]]) -> None:
        """Add the values of a variable before `assign_add` and `assign_sub`, which are the first inputs of these ops."""
        known = {name for _, name in holdings}
        for _, name in list(holdings):
            while (step := self.steps.get(name)) is not None and step.op in (ASSIGN_ADD, ASSIGN_SUB):
                name = step.inputs[0]
                if name in known:
                    break
                known.add(name)
                holdings.append((step.at[0], name))

    def _leaf(self, node: Node) -> None:
        origin = journal.origin_of(node)
        if type(node.aval) is not tuple:
            self.avals.setdefault(origin, node.aval)

    def _add_pending(self, trace: Trace) -> None:
        for node in trace.leaves:
            self._leaf(node)
        self.avals.update({journal.origin_of(node): node.aval for node in trace.nodes})
        lines = [(node.code, node.offset) for node in trace.nodes]
        again = {node.index: journal.origin_of(original) for original, node in trace.recomputed}
        leaves, avals = [journal.origin_of(n) for n in trace.leaves], tuple([n.aval for n in trace.leaves])
        keys = [n.key for n in trace.nodes]
        self._add(trace.serial, self._thread_of(trace), keys, lines, leaves, avals, again)

    @staticmethod
    def _thread_of(trace: Trace) -> int | None:
        if engine.local.trace.inside(trace):
            return get_ident()
        return ELSEWHERE if trace.parent is None and all(node.trace is trace for node in trace.nodes) else None

    def _add(
        self,
        serial: int,
        thread: int | None,
        keys: Sequence[Any],
        lines: Iterable[Line],
        leaves: Sequence[Origin],
        avals: Sequence[Any],
        again: dict[int, Origin],
    ) -> None:
        for leaf, known in zip(leaves, avals, strict=False):
            if leaf != journal.NUMBERS:
                self.avals.setdefault(leaf, known)

        def name(reference: int) -> Name:
            if reference < 0:
                return leaves[-1 - reference]
            return again.get(reference, (serial, reference))

        for index, (key, line) in enumerate(zip(keys, lines, strict=False)):
            op, attrs, *references = key
            if op is RAN:
                (op, attrs), references = attrs, references[1:]
            own = name(index)
            if index in again and own in self.steps:
                continue
            here, at = (ELSEWHERE, again[index]) if index in again else (thread, (serial, index))
            inputs = [name(r) for r in references]
            if journal.NUMBERS in inputs:
                self._numbers[own] = [avals[-1 - r] if r < 0 else None for r in references]
            self._step(Step(own, op, attrs, inputs, line, at, here))

    def _step(self, step: Step, inside: bool = False) -> None:
        """Enter a step. Inside of an opened Program, open the Programs that the step calls as well."""
        if step.op is CUSTOM or step.op is CLOSED:
            count = step.attrs[0]
            if step.attrs[-1]:  # transparent: the gradient is that of the function's own ops
                step.inputs, step.op, step.attrs, step.how = step.inputs[:count], None, (), RESULT
                for place, name in enumerate(step.inputs):
                    self._result_of(step, place, [name])
            else:
                step.hidden = step.inputs[:count]
                step.inputs = step.inputs[count:] if step.op is CUSTOM else step.inputs[count : len(step.attrs[2])]
        self.steps[step.name] = step
        if inside and opens(step.op):
            self._enter(step)
        elif inside:
            self._redirect(step)

    def _redirect(self, step: Step) -> None:
        """Replace an output of an opened call by the result inside of it."""
        if step.op is ELEMENT and (inside := self.steps.get((*step.inputs[0], "results", step.attrs[0]))) is not None:
            step.inputs = (inside.name,)

    def _open(self, names: Iterable[Name]) -> None:
        """Open the calls on the way to `names`."""
        for name in self.before(names):
            step = self.steps.get(name)
            if step is not None and opens(step.op):
                self._enter(step)
        for step in list(self.steps.values()):
            self._redirect(step)

    def _enter(self, call: Step) -> None:
        """Enter the steps of the Programs that a step runs; the results are named `(*name, "results", i)`."""
        op, attrs, inputs = call.op, call.attrs, call.inputs
        assert isinstance(op, StructuredOp)
        ways: dict[int, list[Name]] = {}  # index of a result → the outputs that it may be
        chosen = op.decided_by(op.form(*attrs))
        deciding = None if chosen is None else inputs[chosen]
        for number, body in enumerate(op.bodies(attrs)):
            parameters = self._parameters(call, body, inputs)
            outputs = self._inside(call, number, body.program, parameters)
            if not body.gives:
                (deciding,) = outputs
                continue
            for k, result in body.gives.items():
                ways.setdefault(result, []).append(outputs[k])
            for p, k in body.carried.items():
                ways[body.gives[k]].append(parameters[p])
                self.steps[parameters[p]].inputs = (inputs[body.takes[p]], outputs[k])
        for result, names in ways.items():
            self._result_of(call, result, names)
            if deciding is not None:
                self.deciding[(*call.name, "results", result)] = deciding

    def _parameters(self, call: Step, body: HeldProgram, inputs: Sequence[Name]) -> list[Name]:
        """Return the names of a Program's parameters: those of its inputs, or new ones for rows and loop bodies."""
        if not (body.rows or body.carried):
            return [inputs[i] for i in body.takes]
        names: list[Name] = []
        for p, i in enumerate(body.takes):
            own = (*call.name, "parameter", i)
            if own not in self.steps:
                self.steps[own] = Step(own, None, (), (inputs[i],), call.line, call.at, call.thread, RESULT)
                self.avals[own] = body.program.parameters[p]
            names.append(own)
        return names

    def _inside(self, call: Step, branch: int, program: Program, given: Sequence[Name]) -> list[Name]:
        """Enter the steps of a Program that is applied to values; return the names of its outputs."""
        constants = [(*call.name, branch, "constant", k) for k in range(len(program.constants))]
        self.avals.update(zip(constants, program.parameters[len(given) :], strict=True))
        parameters = [*given, *constants]

        def name(reference: int) -> Name:
            return parameters[-1 - reference] if reference < 0 else (*call.name, branch, reference)

        lines = program.lines or (NO_LINE,) * len(program.keys)
        for index, ((op, attrs, *references), line) in enumerate(zip(program.keys, lines, strict=True)):
            where = line if line[0] is not None else call.line
            self._step(Step(name(index), op, attrs, [name(r) for r in references], where, call.at, call.thread), inside=True)
        return [name(reference) for reference in program.outputs]

    def _result_of(self, call: Step, place: int, names: Sequence[Name]) -> None:
        """Enter a result of a call that may be any of `names`."""
        own = (*call.name, "results", place)
        self.steps[own] = Step(own, None, (), names, call.line, call.at, call.thread, RESULT)

    def aval(self, name: Name) -> Any:
        """Return the Aval of a value, a tuple of Avals, or None if it is unknown."""
        stack = [name]
        while stack:
            current = stack[-1]
            step = self.steps.get(current)
            if current in self.avals or step is None:
                stack.pop()
            elif (missing := [i for i in step.inputs if i not in self.avals and i in self.steps]) and len(stack) < 100_000:
                stack.extend(missing)
            else:
                self.avals[current] = self._result(step)
        return self.avals.get(name)

    def _result(self, step: Step) -> Any:
        numbers = self._numbers.get(step.name, ())
        given = [numbers[k] if i == journal.NUMBERS and numbers else self.avals.get(i) for k, i in enumerate(step.inputs)]
        if step.op is None:
            return given[0] if given else None
        if step.op is ELEMENT:
            whole = given[0]
            return whole[step.attrs[0]] if isinstance(whole, tuple) else whole
        if step.op in (CUSTOM, CLOSED) or any(a is None for a in given):
            return None
        try:
            return step.op.result(tuple(given), step.attrs)
        except Exception:  # the op cannot infer a result from Avals alone
            return None

    def line_of(self, name: Name) -> Line:
        """Return the line of a value."""
        step = self.steps.get(name)
        return step.line if step is not None else self.lines.get(name, NO_LINE)

    def before(self, names: Iterable[Name], until: Container[Name] = ()) -> dict[Name, None]:
        """Return `names` and all values on which they depend, back to the values `until`."""
        return self._reached(names, lambda name: self.steps[name].inputs if name in self.steps and name not in until else ())

    def since_state(self, names: Iterable[Name]) -> dict[Name, None]:
        """Return `names` and the values on which they depend, back to the values of variables."""
        return self.before(names, self.variables)

    def hidden(self, names: Iterable[Name]) -> list[Name]:
        """Return the hidden values of the custom gradients among `names`."""
        return [inner for name in names if name in self.steps for inner in self.steps[name].hidden]

    def after(self, names: Iterable[Name]) -> dict[Name, None]:
        """Return `names` and all values that depend on them."""
        return self._reached(names, lambda name: [step.name for step in self.users.get(name, ())])

    def _reached(self, names: Iterable[Name], neighbours: Callable[[Name], Iterable[Name]]) -> dict[Name, None]:
        following = reached(names, lambda name: () if name == journal.NUMBERS else neighbours(name))
        return dict.fromkeys([name for name in following if name != journal.NUMBERS])

    def used_variables(self, names: Iterable[Name]) -> set[int]:
        """Return the numbers of the variables on which values depend."""
        return self._holding(self.before(names))

    def read_variables(self, names: Iterable[Name]) -> set[int]:
        """Return the numbers of the variables that were read for `names`, without the variables behind those."""
        return self._holding(self.since_state(names))

    def _holding(self, values: Container[Name]) -> set[int]:
        return {number for number, holdings in self.held.items() if any(name in values for _, name in holdings)}

    def holdings(self, number: int, since: int = 0) -> list[Name]:
        """Return the values of a variable from the trace `since` on."""
        return list(dict.fromkeys([name for serial, name in self.held.get(number, ()) if serial >= since]))

    def forgot(self, names: Iterable[Name]) -> bool:
        """Return whether the program that computed one of the values is forgotten."""
        return any(len(name) == 2 and name[0] and name not in self.steps and name not in self.variables for name in names)

    def held_by(self, name: Name) -> Any:
        """Return the variable that holds or held a value; None if there is none, or if it was deleted."""
        return next((journal.variables.get(number) for number in self._holding((name,))), None)


def _pending(nodes: Iterable[Node]) -> Iterator[Trace]:
    """Yield the pending traces: the thread's own, those of `nodes`, and those of their inputs."""

    def around(trace: Trace) -> Iterator[Trace]:
        traces = [trace.parent, *[node.trace for node in (*trace.leaves, *[original for original, _ in trace.recomputed])]]
        return (found for found in traces if found is not None)

    return reached([engine.local.trace, *[node.trace for node in nodes if node.trace is not None]], around)
