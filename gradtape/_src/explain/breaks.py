"""The breaks on the way from a source to a target, as one tape sees it."""

from __future__ import annotations

import heapq
import re
from collections.abc import Container, Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Any

from gradtape._src.autodiff.backward import Entry, apply_rule
from gradtape._src.autodiff.custom import CLOSED, CUSTOM
from gradtape._src.control.host import PY_FUNC
from gradtape._src.control.scope import ASSIGNMENTS
from gradtape._src.core import hooks, journal, tracing
from gradtape._src.core.journal import Line, Moment, Taped
from gradtape._src.core.op import Op, ops
from gradtape._src.core.program import CALL, ELEMENT, FUNCTION, Node, leaf
from gradtape._src.core.variable_ops import READ
from gradtape._src.explain import source as text
from gradtape._src.explain.codes.exits import LeftLibrary
from gradtape._src.explain.codes.objects import Copy, Stale
from gradtape._src.explain.codes.ops import NoGradientRegistered, NotDifferentiable, NotFloating, Stopped
from gradtape._src.explain.codes.placed import InnerGradient, OtherTape, OtherThread, OutsideTape, RecordingPaused, TapeUsed
from gradtape._src.explain.codes.state import State
from gradtape._src.explain.codes.watching import NotTrainable, NotWatched, Rebound, WatchedLate
from gradtape._src.explain.evidence import Evidence, OfOp
from gradtape._src.explain.history import RESULT, History, Name, Step, opens
from gradtape._src.explain.source import NO_LINE, rebound_name, same_line
from gradtape._src.ops.array.shape import ones

COPIES = {READ, ops["Identity"]}


HANDED = {"IndexFromStart", "Reshape", "Identity", "ExpandDims", "Cast"}  # through which an index goes to where it is used
INDEXED = {"GatherV2", "GatherNd", "StridedSlice"}  # whose first input has the elements, and the others say which


Way = list[tuple[Name, Step]]  # each input, and the step that takes it
MOST_CLOSED = 8  # breaks that are taken away in the search for other ways


class Source:
    """A source as the history knows it: the names of its values, and whether it is a variable."""

    __slots__ = ("in_graph", "inexact", "made", "names", "number", "trainable", "variable")

    def __init__(self, names: Sequence[Name], made: Line, inexact: bool, variable: Any = None, in_graph: bool = False) -> None:
        self.names, self.made, self.inexact, self.variable, self.in_graph = list(names), made, inexact, variable, in_graph
        self.number = None if variable is None else variable._uid
        self.trainable = variable is not None and variable.trainable

    def holding(self, names: Sequence[Name]) -> Source:
        """Return the source with other values."""
        return Source(names, self.made, self.inexact, self.variable, self.in_graph)


class View:
    """A history as one tape saw it: which steps it recorded, and what it watched since when."""

    def __init__(self, history: History, tape: Taped | None) -> None:
        self.history, self.tape = history, tape
        self.calls = [call for call in history.calls if call.stop > call.start]
        self.segments = [] if tape is None else tape.segments
        self._spans: dict[int, list[tuple[int, int]]] = {}
        for serial, start, stop in self.segments:
            self._spans.setdefault(serial, []).append((start, stop))
        self._watched: dict[Name, Moment] = {}
        self._watched_variables: dict[int, Moment] = {}
        for origin, moment, number in [] if tape is None else tape.watches:
            self._watched.setdefault(origin, moment)
            if number is not None:
                self._watched_variables.setdefault(number, moment)
        self._rules: dict[Any, bool] = {}
        self._active: set[Name] | None = None

    def sees(self, at: Moment, tape: Taped | None = None) -> bool:
        """Return whether the tape recorded at that moment."""
        if tape is not None:
            return any(serial == at[0] and start <= at[1] < stop for serial, start, stop in tape.segments)
        return any(start <= at[1] < stop for start, stop in self._spans.get(at[0], ()))

    # -- what a source is to the tape

    def first_fault(self, source: Source, step: Step | None) -> Evidence | None:
        """Return the reason why the tape does not watch the source itself; `step` is the first op that uses it."""
        if not source.inexact:
            return NotFloating(source.made, self._maker(source))
        if source.number is not None:
            return self.fault_of_variable(source, step)
        (name,) = source.names
        if source.in_graph or name in self._watched or name in self.active():
            return None
        if (rebound := self.rebinding(name)) is not None:
            return rebound
        reset = self._forgotten(lambda tape: any(origin == name for origin, _, _ in tape.watches))
        made = step.line if source.made[0] is None and step is not None else source.made  # an argument of a function
        return reset or NotWatched(made, self._maker(source), step)

    def fault_of_variable(self, source: Source, step: Step | None) -> Evidence | None:
        """Return the reason why the tape does not watch a variable; `step` is the first op that uses it."""
        if source.number in self._watched_variables or source.in_graph:
            return None
        automatic = self.tape is None or self.tape.automatic
        if automatic and source.trainable:
            return None
        reset = self._forgotten(lambda tape: any(number == source.number for _, _, number in tape.watches))
        if reset is not None:
            return reset
        if source.trainable:
            return NotWatched(source.made, None, step, automatic=False)
        return NotTrainable(step.line if step is not None else source.made, step.how if step else None, step)

    def watches(self, name: Name) -> bool:
        """Return whether the tape was told to watch a value, or computed it from what it watches."""
        return name in self._watched or name in self.active()

    def _forgotten(self, holds: Any) -> Evidence | None:
        """Return the reset of the tape that removed the values from its record."""
        earlier = None if self.tape is None else self.tape.earlier
        while earlier is not None:
            if holds(earlier):
                return TapeUsed(earlier.forgotten or NO_LINE, reset=True)
            earlier = earlier.earlier
        return None

    def _maker(self, source: Source) -> str | None:
        step = self.history.steps.get(source.names[0])
        return None if step is None else step.how

    def rebinding(self, name: Name) -> Evidence | None:
        """Return the line that gave a Variable's name to a tensor: `x = x + 1`."""
        step = self.history.steps.get(name)
        if step is None or (called := rebound_name(step.line)) is None:
            return None
        stack, seen = [step], {step.name}
        while stack:
            current = stack.pop()
            for i in current.inputs:
                if self._is_variable(i):
                    return Rebound(step.line, step.how, step, name=called)
                before = self.history.steps.get(i)
                again = before is not None and (same_line(before.line, step.line) or rebound_name(before.line) == called)
                if before is not None and again and before.name not in seen:
                    seen.add(before.name)
                    stack.append(before)
        return None

    def _is_variable(self, name: Name) -> bool:
        step = self.history.steps.get(name)
        return name in self.history.variables or (step is not None and step.op in ASSIGNMENTS)

    def active(self) -> set[Name]:
        """Return the values that depend on the tape's watched values."""
        if self._active is None:
            found = self._roots()
            for step in sorted([s for s in self.history.steps.values() if self.sees(s.at)], key=lambda s: s.at):
                if any(i in found and self.fault(i, step) is None for i in step.inputs):
                    found.add(step.name)
            self._active = found
        return self._active

    # -- what a step does to the connection

    def fault(self, before: Name, step: Step) -> Evidence | None:
        """Return the break between an input and the result of a step; None if there is none."""
        return self._by_kind(before, step) or self._by_place(before, step)

    def _by_kind(self, before: Name, step: Step) -> Evidence | None:
        op = step.op
        if op is None:
            if step.how == "variable":
                return Copy(step.line, None, step) if self._is_variable(before) else State(step.line, None, step, new=True)
            return State(step.line, None, step) if step.how == "assign" else None
        op = hooks.graphs.shown(op, step.attrs)
        at = step.line, op.type, step
        if op is PY_FUNC:
            return LeftLibrary(*at, how="numpy_function")
        if op in ASSIGNMENTS or op.type.startswith(("ResourceScatter", "ScatterNd_assign")):
            return State(*at)
        if op.type == "StopGradient":
            return Stopped(*at)
        if op.type == "Cast" and not _inexact(self.history.aval(step.name)):
            return NotFloating(*at, cast=True, index=self._is_index(step.name))
        if op.gradient is None and not opens(op) and op is not ELEMENT and op is not CUSTOM:
            if op.reason is None:
                return NoGradientRegistered(*at)
            if "state stops gradients" in op.reason:
                return State(*at)
            return NotDifferentiable(*at, reason=op.reason, index=self._is_index(step.name))
        if op is CLOSED and step.attrs[2][step.attrs[0] + step.inputs.index(before)] is None:
            return NotDifferentiable(*at, reason="its gradient function returns None for this argument")
        if not _inexact(self.history.aval(step.name)) and op not in (CALL, FUNCTION) and _inexact(self.history.aval(before)):
            made = self.history.steps.get(step.inputs[0]) if op is ELEMENT else step
            return NotFloating(step.line, op.type if made is step else (made or step).how, step)
        return None

    def _is_index(self, name: Name) -> bool:
        """Return whether a value only says which elements an op takes."""
        waiting, seen = [name], {name}
        while waiting:
            current = waiting.pop()
            users = self.history.users.get(current, ())
            handed = [step.name for step in users if step.how in HANDED and not _inexact(self.history.aval(step.name))]
            taken = [step for step in users if step.how in INDEXED and step.inputs[:1] != (current,)]
            if not users or len(handed) + len(taken) < len(users):
                return False
            waiting += [n for n in handed if n not in seen]
            seen.update(handed)
        return True

    def _by_place(self, before: Name, step: Step) -> Evidence | None:
        if self.tape is None or step.how == RESULT:
            return None
        at, alone = step.at, step.how == "call"  # a call that ran at once, as no tape was open then
        outer = self.history.steps.get(step.name[:2], step)  # the call, of what a function did
        if self.sees(at) and not alone:
            watched = self._watched.get(before)
            if watched is not None and self._later(watched, at) and not self._was_active(before):
                made = self.history.steps.get(before)
                return WatchedLate(outer.line, step.how, step, made=made is not None and made.how != RESULT)
            return None
        if self._in_another_thread(step):
            return OtherThread(outer.line, step.how, step)
        if any(start <= at < stop or (alone and at == stop) for start, stop in self.tape.paused):
            return RecordingPaused(outer.line, step.how, step)
        for call in self.calls:
            if call.start <= at < call.stop:
                inner = None if call.tape is self.tape else call.tape
                segments = [] if inner is None else inner.segments
                nested = all(self.sees((serial, start)) for serial, start, stop in segments if start < stop)
                return InnerGradient(call.line, None, step, inner=inner, nested=nested)
        forgotten = self._forgotten(lambda tape: self.sees(at, tape))
        if forgotten is not None:
            return forgotten
        if step.op in COPIES and self._is_variable(before):
            return Stale(step.line, step.how, step)
        called = rebound_name(step.line) if outer is step and self._is_variable(before) else None
        if called is not None and _reads(step, before, called):
            return Rebound(step.line, step.how, step, name=called)
        if not alone and any(self.sees(at, tape) for tape in self.history.tapes if tape is not self.tape):
            return OtherTape(outer.line, step.how, step)
        opened = None if not self.segments else (self.segments[0][0], self.segments[0][1])
        early = opened is None or at < opened or (alone and at == opened)
        return OutsideTape(outer.line, step.how, step, early=early)

    def of_several_tapes(self, step: Step) -> bool:
        """Return whether an op after the tape takes what this tape recorded, and what others did that were closed before it."""
        steps = [self.history.steps[name] for name in self.history.since_state(step.inputs) if name in self.history.steps]
        given = [s.at for s in steps if s.op is not None]  # the value of a variable belongs to no tape
        others = [tape for tape in self.history.tapes if tape is not self.tape and any(self.sees(at, tape) for at in given)]
        apart = [tape for tape in others if not any(self.sees((serial, start)) for serial, start, _ in tape.segments)]
        return bool(apart) and any(map(self.sees, given))

    def _was_active(self, name: Name) -> bool:
        """Return whether the tape watches a value without being told to, or what it was computed from."""
        step = self.history.steps.get(name)
        if step is None or step.how == RESULT:
            return False
        return name in self._automatic() or not self._roots().isdisjoint(self.history.before(step.inputs))

    def _automatic(self) -> set[Name]:
        """Return the values of the variables that the tape watches without being told to."""
        if self.tape is None or not self.tape.automatic:
            return set()
        trained = [n for n in self.history.held if (v := journal.variables.get(n)) is not None and v.trainable]
        return {name for number in trained for _, name in self.history.held[number]}

    def _roots(self) -> set[Name]:
        """Return the values that the tape watches, and those of its variables."""
        told = {name for number in self._watched_variables for _, name in self.history.held.get(number, ())}
        return {*self._watched} | told | self._automatic()

    def _later(self, watched: Moment, at: Moment) -> bool:
        order = {serial: k for k, (serial, _, _) in reversed(list(enumerate(self.segments)))}
        return (order.get(watched[0], -1), watched[1]) > (order.get(at[0], -1), at[1])

    def _in_another_thread(self, step: Step) -> bool:
        return self.tape is not None and step.thread is not None and step.thread != self.tape.thread

    # -- the way with the fewest breaks

    def on_other_ways(self, source: Source, targets: Sequence[Name], first: Way, breaks: Sequence[Evidence]) -> list[Evidence]:
        """Return the breaks of ops on other ways, where the `breaks` of the first are all of ops that no way has to pass."""
        if not breaks or any(b.step is None or not isinstance(b, OfOp) for b in breaks):
            return []
        found: list[Evidence] = []
        for way in self._other_ways(source, targets, first):
            of_way = [b for name, step in way if (b := self.fault(name, step)) is not None]
            if not all(isinstance(b, OfOp) for b in of_way):
                break
            found += of_way
        return [replace(broken, apart=True) for broken in found]

    def _other_ways(self, source: Source, targets: Sequence[Name], first: Way) -> Iterator[Way]:
        """Yield more paths from the source to a target: each the best one without the breaks of those before it."""
        closed: set[tuple[Name, Name]] = set()
        way: Way | None = first
        while way and len(closed) < MOST_CLOSED:
            broken = [(name, step.name) for name, step in way if self.fault(name, step) is not None]
            if not broken:
                return
            closed.update(broken)
            way = self.way(source, targets, closed)
            if way:
                yield way

    def way(self, source: Source, targets: Iterable[Name], closed: Container[tuple[Name, Name]] = ()) -> Way | None:
        """Return the path from the source to a target with the fewest breaks, as (input, step); None if there is none.

        Of as many breaks those that nobody means to be there count before a `stop_gradient`. Pairs of names that are `closed`
        are not passed.
        """
        wanted = set(targets)
        allowed = self.history.before(wanted)
        best: dict[Name, tuple[int, int, int]] = {}
        via: dict[Name, tuple[Name, Step]] = {}
        queue: list[tuple[int, int, int, int, Name]] = []
        count = 0
        for name in source.names:
            if name in allowed:
                best[name] = (0, 0, 0)
                queue.append((0, 0, 0, count, name))
                count += 1
        heapq.heapify(queue)
        while queue:
            broken, meant, length, _, name = heapq.heappop(queue)
            if name in wanted and (name not in source.names or length):
                return self._traced(via, name)
            if best[name] < (broken, meant, length):
                continue
            for step in self.history.users.get(name, ()):
                if step.name not in allowed or (name, step.name) in closed:
                    continue
                fault = self.fault(name, step)
                cost = broken + (fault is not None), meant + isinstance(fault, Stopped), length + 1
                if step.name not in best or cost < best[step.name]:
                    best[step.name] = cost
                    via[step.name] = name, step
                    count += 1
                    heapq.heappush(queue, (*cost, count, step.name))
        return [] if wanted & set(source.names) else None

    def _traced(self, via: dict[Name, tuple[Name, Step]], name: Name) -> Way:
        steps = []
        while name in via:
            before, step = via.pop(name)
            steps.append((before, step))
            name = before
        return steps[::-1]

    def silent(self, before: Name, step: Step) -> bool:
        """Return whether the gradient function of a step gives None for an input, which only a call of it can tell."""
        if step.op is None or step.op.gradient is None or step.op.impure or opens(step.op) or step.op is ELEMENT:
            return False
        avals = [self.history.aval(i) for i in step.inputs]
        result = self.history.aval(step.name)
        if result is None or type(result) is tuple or any(a is None or type(a) is tuple for a in avals):
            return False
        place = step.inputs.index(before)
        key = (step.op, step.attrs, tuple(avals), place)
        if key not in self._rules:
            self._rules[key] = _gives_none(step.op, step.attrs, avals, result, place)
        return self._rules[key]


def _reads(step: Step, before: Name, called: str) -> bool:
    """Return whether an input of a step is written with the name `called`: `w` is, of `x = x + w`, and not `x`."""
    operands = text.operands(step.line)
    at = step.inputs.index(before)
    written = operands[at] if len(operands) == len(step.inputs) else text.expression(step.line)
    return written is None or re.search(rf"(?<![\w.]){re.escape(called)}(?!\w)", written) is not None


def _inexact(aval: Any) -> bool:
    if aval is None:
        return True
    return any(map(_inexact, aval)) if type(aval) is tuple else aval.inexact


def _gives_none(op: Op, attrs: tuple[Any, ...], avals: Sequence[Any], result: Any, place: int) -> bool:
    inputs = tuple([leaf(a, None) for a in avals])
    with tracing.inner() as trace:
        node = Node((op, attrs), inputs, result, trace, len(trace.nodes), None, 0)
        needed = tuple([i == place for i in range(len(inputs))])
        try:
            given = apply_rule(Entry(node, inputs), needed, ones(result.shape, result.type), {})
        except Exception:  # a rule that wants values says nothing here
            return False
        return given[place] is None
