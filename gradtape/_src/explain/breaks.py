"""The breaks on the path from a source to a target, as one tape recorded it."""

from __future__ import annotations

import heapq
import itertools
from collections.abc import Callable, Container, Iterable, Sequence
from dataclasses import replace
from typing import Any

from gradtape._src.autodiff.backward import Entry, apply_rule
from gradtape._src.control.scope import ASSIGNMENTS
from gradtape._src.core.base import hooks
from gradtape._src.core.base.reaching import reached
from gradtape._src.core.engine import tracing
from gradtape._src.core.programs import journal
from gradtape._src.core.programs.journal import Line, Moment, Taped
from gradtape._src.core.programs.op import Op
from gradtape._src.core.programs.program import ELEMENT, Node, leaf
from gradtape._src.explain.codes.instead import asked_with
from gradtape._src.explain.codes.ops import NotFloating, chosen_by
from gradtape._src.explain.codes.placed import TapeUsed
from gradtape._src.explain.codes.watching import NotTrainable, NotWatched, Rebound
from gradtape._src.explain.evidence import Evidence, OfOp, of_places, of_steps
from gradtape._src.explain.history import RESULT, History, Name, Step, opens
from gradtape._src.explain.source import NO_LINE, rebound_name, same_line
from gradtape._src.ops.array.shape import ones

Way = list[tuple[Name, Step]]  # pairs of an input and the step that takes it
MOST_CLOSED = 8  # breaks to be closed in the search for other paths


class Source:
    """A source in the history: the names of its values, and its variable if it is one."""

    __slots__ = ("in_graph", "inexact", "made", "names", "number", "trainable", "variable")

    def __init__(self, names: Sequence[Name], made: Line, inexact: bool, variable: Any = None, in_graph: bool = False) -> None:
        self.names, self.made, self.inexact, self.variable, self.in_graph = list(names), made, inexact, variable, in_graph
        self.number = None if variable is None else variable._uid
        self.trainable = variable is not None and variable.trainable

    def holding(self, names: Sequence[Name]) -> Source:
        """Return the same source with other values."""
        return Source(names, self.made, self.inexact, self.variable, self.in_graph)


class View:
    """A history from the view of one tape: the steps it recorded, and the values it watched, with the times."""

    def __init__(self, history: History, tape: Taped | None) -> None:
        self.history, self.tape = history, tape
        self.calls = [call for call in history.calls if call.stop > call.start]
        self.segments = [] if tape is None else tape.segments
        self._spans: dict[int, list[tuple[int, int]]] = {}
        for serial, start, stop in self.segments:
            self._spans.setdefault(serial, []).append((start, stop))
        self.watched: dict[Name, Moment] = {}
        self._watched_variables: dict[int, Moment] = {}
        for origin, moment, number in [] if tape is None else tape.watches:
            self.watched.setdefault(origin, moment)
            if number is not None:
                self._watched_variables.setdefault(number, moment)
        self._rules: dict[Any, bool] = {}
        self._active: set[Name] | None = None
        self._faults: dict[tuple[Name, Name], Evidence | None] = {}

    def sees(self, at: Moment, tape: Taped | None = None) -> bool:
        """Return whether the tape recorded at a moment."""
        if tape is not None:
            return any(serial == at[0] and start <= at[1] < stop for serial, start, stop in tape.segments)
        return any(start <= at[1] < stop for start, stop in self._spans.get(at[0], ()))

    def opened(self, at: Moment) -> bool:
        """Return whether the tape was open at a moment, recording or paused."""
        return self.sees(at) or (self.tape is not None and any(start <= at <= stop for start, stop in self.tape.paused))

    # -- whether the tape watches a source

    def first_fault(self, source: Source, step: Step | None) -> Evidence | None:
        """Return the reason why the tape does not watch the source; `step` is the first op that uses it."""
        made_by = self.history.steps.get(source.names[0]) if source.names else None
        maker = None if made_by is None else made_by.how
        if not source.inexact:
            return NotFloating(source.made, maker, index=chosen_by(self.history, source.names[0]))
        if source.number is not None:
            return self.fault_of_variable(source, step)
        (name,) = source.names
        if source.in_graph or name in self.watched or name in self.active():
            return None
        if (rebound := self.rebinding(name)) is not None:
            return rebound
        reset = self.forgotten(lambda tape: any(origin == name for origin, _, _ in tape.watches))
        made = step.line if source.made[0] is None and step is not None else source.made  # an argument has no line of its own
        return reset or NotWatched(made, maker, step)

    def fault_of_variable(self, source: Source, step: Step | None) -> Evidence | None:
        """Return the reason why the tape does not watch a variable; `step` is the first op that uses it."""
        if source.number in self._watched_variables or source.in_graph:
            return None
        automatic = self.tape is None or self.tape.automatic
        if automatic and source.trainable:
            return None
        reset = self.forgotten(lambda tape: any(number == source.number for _, _, number in tape.watches))
        if reset is not None:
            return reset
        if source.trainable:
            return NotWatched(source.made, None, step, automatic=False, unbuilt=self.opened(source.variable._born))
        asked = [journal.variables.get(number) for number in asked_with(self, source)]
        alone = not any(variable is not None and variable.trainable for variable in asked)
        return NotTrainable(step.line if step is not None else source.made, step.how if step else None, step, alone=alone)

    def forgotten(self, holds: Callable[[Taped], bool]) -> Evidence | None:
        """Return the reset of the tape that removed a value from its record; `holds` tells whether a record has the value."""
        earlier = None if self.tape is None else self.tape.earlier
        while earlier is not None:
            if holds(earlier):
                return TapeUsed(earlier.forgotten or NO_LINE, reset=True)
            earlier = earlier.earlier
        return None

    def rebinding(self, name: Name) -> Evidence | None:
        """Return the line that replaced a Variable by a tensor under the same name: `x = x + 1`."""
        step = self.history.steps.get(name)
        if step is None or (called := rebound_name(step.line)) is None:
            return None

        def before(current: Step) -> list[Step]:
            found = [self.history.steps[i] for i in current.inputs if i in self.history.steps]
            return [s for s in found if same_line(s.line, step.line) or rebound_name(s.line) == called]

        rebound = any(any(map(self.is_variable, current.inputs)) for current in reached([step], before))
        return Rebound(step.line, step.how, step, name=called) if rebound else None

    def is_variable(self, name: Name) -> bool:
        step = self.history.steps.get(name)
        return name in self.history.variables or (step is not None and step.op in ASSIGNMENTS)

    def active(self) -> set[Name]:
        """Return all values that the tape was told to watch, or recorded as results of watched ones."""
        if self._active is None:
            found = self._roots()
            for step in sorted([s for s in self.history.steps.values() if self.sees(s.at)], key=lambda s: s.at):
                if any(i in found and self.fault(i, step) is None for i in step.inputs):
                    found.add(step.name)
            self._active = found
        return self._active

    # -- the effect of a step on the connection

    def fault(self, before: Name, step: Step) -> Evidence | None:
        """Return the break between an input and the result of a step; None if the tape connects them."""
        key = before, step.name
        if key not in self._faults:
            op = None if step.op is None else hooks.graphs.shown(step.op, step.attrs)
            found = of_steps.first(self, before, step, op)
            if found is None and self.tape is not None and step.how != RESULT and not self.recorded(step):
                found = of_places.first(self, before, step, self.history.steps.get(step.name[:2], step))
            self._faults[key] = found
        return self._faults[key]

    def faults(self, way: Way) -> list[Evidence]:
        """Return the breaks on a path, in order."""
        return [found for name, step in way if (found := self.fault(name, step)) is not None]

    def recorded(self, step: Step) -> bool:
        """Return whether the tape recorded a step. It records no call that ran at once, because no tape was open."""
        return step.how != "call" and self.sees(step.at)

    def of_several_tapes(self, step: Step) -> bool:
        """Return whether an op uses values that this tape recorded and values that other, closed tapes recorded."""
        steps = [self.history.steps[name] for name in self.history.since_state(step.inputs) if name in self.history.steps]
        given = [s.at for s in steps if s.op is not None]  # reading a variable belongs to no tape
        others = [tape for tape in self.history.tapes if tape is not self.tape and any(self.sees(at, tape) for at in given)]
        apart = [tape for tape in others if not any(self.sees((serial, start)) for serial, start, _ in tape.segments)]
        return bool(apart) and any(map(self.sees, given))

    def was_active(self, name: Name) -> bool:
        """Return whether the tape watches a value automatically, or recorded it and watches any value on which it depends."""
        step = self.history.steps.get(name)
        if step is None or step.how == RESULT:
            return False
        before = self.history.before(step.inputs) if self.sees(step.at) else ()
        return name in self._automatic() or not self._roots().isdisjoint(before)

    def _automatic(self) -> set[Name]:
        """Return the values of the variables that the tape watches automatically."""
        if self.tape is None or not self.tape.automatic:
            return set()
        trained = [n for n in self.history.held if (v := journal.variables.get(n)) is not None and v.trainable]
        return {name for number in trained for _, name in self.history.held[number]}

    def _roots(self) -> set[Name]:
        """Return the watched values, and the values of the tape's variables."""
        told = {name for number in self._watched_variables for _, name in self.history.held.get(number, ())}
        return {*self.watched} | told | self._automatic()

    def later(self, watched: Moment, at: Moment) -> bool:
        order = {serial: k for k, (serial, _, _) in reversed(list(enumerate(self.segments)))}
        return (order.get(watched[0], -1), watched[1]) > (order.get(at[0], -1), at[1])

    # -- the way with the fewest breaks

    def on_other_ways(self, source: Source, targets: Sequence[Name], first: Way, breaks: Sequence[Evidence]) -> list[Evidence]:
        """Return the breaks on other paths, if the first path has only `breaks` at ops that another path may avoid."""
        if not breaks or any(b.step is None or not isinstance(b, OfOp) for b in breaks):
            return []
        found: list[Evidence] = []
        closed: set[tuple[Name, Name]] = set()
        way: Way | None = first
        while way and len(closed) < MOST_CLOSED:  # each path is the best one without the breaks of the earlier ones
            closed.update((name, step.name) for name, step in way if self.fault(name, step) is not None)
            way = self.way(source, targets, closed)
            told = self.faults(way or [])
            if not told or not all(isinstance(b, OfOp) for b in told):
                break
            found += told
        return [replace(broken, apart=True) for broken in found]

    def way(self, source: Source, targets: Iterable[Name], closed: Container[tuple[Name, Name]] = ()) -> Way | None:
        """Return the path from the source to a target with the fewest breaks, as (input, step); None if there is none.

        On a tie the path with fewer intended breaks, such as `stop_gradient`, wins, then the shorter one. The pairs in `closed`
        are excluded.
        """
        wanted, count = set(targets), itertools.count()
        allowed = self.history.before(wanted)
        best = {name: (0, 0, 0) for name in source.names if name in allowed}
        via: dict[Name, tuple[Name, Step]] = {}
        queue = [(0, 0, 0, next(count), name) for name in best]
        while queue:
            broken, meant, length, _, name = heapq.heappop(queue)
            if name in wanted and (name not in source.names or length):
                traced = []
                while name in via:
                    traced.append(via.pop(name))
                    name = traced[-1][0]
                return traced[::-1]
            if best[name] < (broken, meant, length):
                continue
            for step in self.history.users.get(name, ()):
                if step.name not in allowed or (name, step.name) in closed:
                    continue
                fault = self.fault(name, step)
                cost = broken + (fault is not None), meant + (fault is not None and fault.meant), length + 1
                if step.name not in best or cost < best[step.name]:
                    best[step.name] = cost
                    via[step.name] = name, step
                    heapq.heappush(queue, (*cost, next(count), step.name))
        return [] if wanted & set(source.names) else None

    def silent(self, before: Name, step: Step) -> bool:
        """Return whether a step's gradient function returns None for an input. Only a call of the function can tell."""
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


def _gives_none(op: Op, attrs: tuple[Any, ...], avals: Sequence[Any], result: Any, place: int) -> bool:
    inputs = tuple([leaf(a, None) for a in avals])
    with tracing.inner() as trace:
        node = Node((op, attrs), inputs, result, trace, len(trace.nodes), None, 0)
        needed = tuple([i == place for i in range(len(inputs))])
        try:
            given = apply_rule(Entry(node, inputs), needed, ones(result.shape, result.type), {})
        except Exception:  # the gradient function needs values
            return False
        return given[place] is None
