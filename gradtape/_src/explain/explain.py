"""`explain`: the reason for a gradient of None, found after the fact in the journal."""

from __future__ import annotations

import functools
import re
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from traceback import walk_stack
from typing import Any, NamedTuple, overload

import numpy as np

from gradtape._src.autodiff.custom import CUSTOM
from gradtape._src.autodiff.recording import kept_step
from gradtape._src.autodiff.tape import GradientTape
from gradtape._src.core.base.ambient import setting
from gradtape._src.core.base.public import public
from gradtape._src.core.base.tracebacks import internal
from gradtape._src.core.programs import journal
from gradtape._src.core.programs.journal import Asked, Line, Taped
from gradtape._src.core.programs.op import ops
from gradtape._src.core.programs.program import Node
from gradtape._src.core.programs.traits import Trait
from gradtape._src.core.tensors import nest
from gradtape._src.core.tensors.convert import variable_of
from gradtape._src.core.tensors.indexed_slices import IndexedSlices
from gradtape._src.core.tensors.tensor import Tensor, graph_of
from gradtape._src.core.tensors.variable import Variable
from gradtape._src.explain import source as text
from gradtape._src.explain.apart import Apart, apart, exit_of, left_under_tape
from gradtape._src.explain.breaks import Source, View
from gradtape._src.explain.callers import set_before, statements_under_tape
from gradtape._src.explain.codes import load
from gradtape._src.explain.codes.branches import untaken
from gradtape._src.explain.codes.instead import called_instead
from gradtape._src.explain.codes.ops import NotDifferentiable, NotFloating, Stopped
from gradtape._src.explain.codes.placed import InnerGradient, OtherTape, OutsideTape, Placed, TapeUsed
from gradtape._src.explain.codes.state import State
from gradtape._src.explain.codes.unused import Unknown, Unused, dead_end, never_read
from gradtape._src.explain.codes.watching import NotWatched, Rebound
from gradtape._src.explain.diagnosis import Diagnosis, Found, Lack, shown
from gradtape._src.explain.evidence import Evidence
from gradtape._src.explain.history import History, Name, Step
from gradtape._src.explain.holders import Paths, holders, holders_with, name_of, names_of, places_of, scopes
from gradtape._src.explain.inside import Inside, asked_in_functions, of_results, of_source
from gradtape._src.explain.merged import merged, without_inner
from gradtape._src.explain.nonfinite import origin, origin_of_target
from gradtape._src.explain.probe import Probe, own_trace
from gradtape._src.explain.restored import Again, again
from gradtape._src.explain.words import Words
from gradtape._src.explain.zeros import flat_places

load()

CONNECTED = Diagnosis("connected", cause="There is a gradient.")
NO_VALUES = replace(
    CONNECTED,
    mend="To be told whether it is zero, NaN or infinite, and why, make the tape persistent, or call "
    "gradtape.config.keep_last_step(True) before the step.",
)


@overload
def explain(target: Any, sources: Tensor | Variable, tape: GradientTape | None = None) -> Diagnosis: ...
@overload
def explain(target: Any, sources: Any, tape: GradientTape | None = None) -> Any: ...
@public
def explain(target: Any, sources: Any, tape: GradientTape | None = None) -> Any:
    """Explain why the gradient of `target` with respect to each of `sources` is None or zero.

    Returns a nest of `Diagnosis` in the structure of `sources`. A list, tuple or dict prints as a table with each cause once,
    faults first. None is explained from the journal of the latest programs; nothing is run again. Zeros need values, so the
    recorded program is run again: the tape must be persistent, or `gradtape.config.keep_last_step(True)` in force. Without `tape`
    the answer is about the latest gradient call with these sources. TypeError for a source that is neither a tensor nor a
    variable.

    >>> x = tf.constant(3.0)
    >>> with tf.GradientTape() as tape:
    ...     y = x * x
    >>> tape.gradient(y, x) is None
    True
    >>> tf.autodiff.explain(y, x).code
    'not_watched'
    """
    sources, spec = nest.flatten_with_spec(sources)
    flat = _checked(sources)
    question = Question.of(target, flat, tape)
    answers = [question.about(s) for s in flat]
    connected = [i for i, answer in enumerate(answers) if answer.connected]
    if connected:
        for i, answer in zip(connected, question.about_zeros([flat[i] for i in connected]), strict=True):
            answers[i] = answer
    lacks = ["" if answer.connected else "zeros" if i in connected else "None" for i, answer in enumerate(answers)]
    return shown(nest.unflatten(spec, answers), question.found(flat, lacks, answers))


@overload
def explain_nan(target: Any, sources: Tensor | Variable, tape: GradientTape | None = None) -> Diagnosis: ...
@overload
def explain_nan(target: Any, sources: Any, tape: GradientTape | None = None) -> Any: ...
@public
def explain_nan(target: Any, sources: Any, tape: GradientTape | None = None) -> Any:
    """Find the op at which the NaN or infinity in `target`, or its gradient with respect to each of `sources`, begins.

    Returns a nest of `Diagnosis` in the structure of `sources`. Its code is "nan_origin" or "inf_origin" at the first op of the
    forward or backward pass whose non-finite value reaches the gradient or the target. It is "connected" where both are finite.
    Masked elements are not blamed. The recorded program is run again. RuntimeError unless the tape is persistent or
    `gradtape.config.keep_last_step(True)` is in force.

    >>> x, z = tf.Variable([0.0, 1.0]), tf.Variable([0.0, 0.0])
    >>> with tf.GradientTape(persistent=True) as tape:
    ...     m = x > 0
    ...     y = tf.reduce_sum(tf.where(m, tf.math.log(tf.where(m, x, 0.0)), 0.0)) + tf.norm(z)
    >>> [d.code for d in tf.autodiff.explain_nan(y, [x, z])]
    ['connected', 'nan_origin']
    """
    sources, spec = nest.flatten_with_spec(sources)
    flat = _checked(sources)
    question = Question.of(target, flat, tape)
    found = question.about_nan(flat)
    if found is None:
        raise RuntimeError(
            "explain_nan runs the recorded program again, and no record is left. Make the tape persistent, "
            "tf.GradientTape(persistent=True), or call gradtape.config.keep_last_step(True) before the step."
        )
    lacks = ["" if answer.connected else "infinite" if answer.code == "inf_origin" else "NaN" for answer in found]
    return shown(nest.unflatten(spec, found), question.found(flat, lacks, found))


_of_graphs: dict[Any, Diagnosis] = {}  # key of a source → its answer from the latest call of `tf.gradients`
MOST_REMEMBERED = 1024


def remember(sources: Sequence[Any], found: Sequence[Diagnosis | None]) -> None:
    """Keep the answers of a `tf.gradients` call, so that `explain` can repeat them later without the target."""
    if len(_of_graphs) >= MOST_REMEMBERED:
        _of_graphs.clear()
    for source, diagnosis in zip(_checked(sources), found, strict=True):
        _of_graphs[_key(source)] = CONNECTED if diagnosis is None else diagnosis


def _checked(sources: Sequence[Any]) -> Sequence[Any]:
    sources = list(map(variable_of, sources))
    for s in sources:
        if not isinstance(s, (Tensor, Variable, IndexedSlices)):
            raise TypeError(
                f"The source {s!r} of type {type(s).__name__} is no tensor or variable, so nothing was recorded of it. Pass the "
                "Variable, or the tensor that was watched."
            )
    return [s.values if isinstance(s, IndexedSlices) else s for s in sources]


class Case(NamedTuple):
    """A source, the names of the targets, and the gradient call of both, if any, in which `key` stands for the source.

    `view` is the history as the tape of that call saw it, `source` the source in the history.
    """

    asked: Any
    call: Asked | None
    targets: Sequence[Name]
    key: int | Name
    view: View
    source: Source


class Question:
    """One target, named `target` in the user's code, and the tape if one was given; `about` answers for a source."""

    def __init__(
        self,
        target: Any,
        tape: GradientTape | None,
        names: Sequence[Name] | None = None,
        inside: Inside | None = None,
        in_graph: bool = False,
    ) -> None:
        of_user = (frame for frame, _ in walk_stack(sys._getframe(1)) if not internal[frame.f_code.co_filename])
        self._tape, self._frame = tape, (frame := next(of_user, None))
        self._paths: Paths = {}
        self._holders = functools.cache(lambda method: holders_with(method, frame))
        parts = [t.values if isinstance(t, IndexedSlices) else variable_of(t) for t in nest.flatten(target)]
        self._targets = [t for t in parts if isinstance(t, (Tensor, Variable))]
        self._foreign = [t for t in parts if not isinstance(t, (Tensor, Variable))]
        self._nodes = [held_node(t) for t in self._targets]
        traces = [] if tape is None else [segment.trace for segment in tape._segments]
        self._names: list[Name] = [journal.origin_of(n) for n in self._nodes] if names is None else list(names)
        self._inside = inside
        if tape is None and self._names and names is None and not self._asked_outside():
            self._inside = of_results(self._names)
        self.history = History(self._nodes, traces, self._names, self._inside)
        self._in_graph = in_graph or any(graph_of(n) is not None for n in self._nodes)
        single = parts[0] if len(parts) == 1 else target
        self.target = (name_of(single, frame) if self._targets else None) or "the target"

    @classmethod
    def of(cls, target: Any, sources: Sequence[Any], tape: GradientTape | None) -> Question:
        """Create the question about a target. If it is None, ask about the latest gradient call with the first source."""
        if not sources or tape is not None or any(part is not None for part in nest.flatten(target)):
            return cls(target, tape)
        key = _key(sources[0])
        inside, finished = of_source(key), asked_in_functions()
        calls = [c for c in list(journal.calls) if key in c.sources and c.start[0] not in finished]
        if inside is not None and (not calls or calls[-1].number <= inside.run.asked):
            return cls([], None, [], inside)
        return cls([], None, calls[-1].targets if calls else [])

    def _asked_outside(self) -> bool:
        """Return whether a gradient call outside of functions had the target, or its tape recorded the target."""
        names = set(self._names)
        calls = list(journal.calls)
        seen = {segment for call in calls for segment in call.tape.segments}
        return any(names & set(call.targets) for call in calls) or any(
            serial == name[0] and start <= name[1] < stop for name in names for serial, start, stop in seen
        )

    def _name_of_tape(self, taped: Taped | None) -> str:
        """Return the tape's name in the user's code; the name of any tape there if this one has none."""
        frame, asked = self._frame, self._tape if self._tape is not None or taped is None else taped.tape()
        if asked is not None and (name := name_of(asked, frame)):
            return name
        known = [known for names in next(scopes(frame), ()) for known in list(names.items())]
        return next((name for name, held in known if isinstance(held, GradientTape) and not name.startswith("_")), "tape")

    def about(self, source: Any) -> Diagnosis:
        """Return the Diagnosis of one source."""
        with setting(held_numbers={}):
            case = self._case(source)
            call, tape, none = case.call, case.view.tape, False
            if call is None and not case.targets and (answer := _of_graphs.get(case.key)) is not None:
                return answer
            if call is not None and case.key in call.sources and set(case.targets) & set(call.targets):
                if call.refused:
                    return self._words(case).diagnosis(TapeUsed(call.tape.consumed or text.NO_LINE))
                none = call.results is not None and not call.results[call.sources.index(case.key)]
                if call.results is not None and not none:
                    return CONNECTED
            breaks = self._detailed(self._breaks(case, none), case)
            breaks = breaks if call is None else self._at_calls(breaks, call.line)
            if not breaks and call is not None and tape is not None and not tape.persistent and tape.consumed is not None:
                breaks = [TapeUsed(tape.consumed)]
            return self._words(case).diagnoses(breaks) if breaks else CONNECTED

    def _detailed(self, breaks: Sequence[Evidence], case: Case) -> list[Evidence]:
        """Add the evidence around each break: other tapes, functions, and the objects that hold variables."""
        told: list[Evidence] = []
        view = case.view
        for k, broken in enumerate(breaks):
            after = [ops[b.op] for b in breaks[k + 1 :] if b.op in ops and b.line[0] is broken.line[0]]
            match broken:
                case NotFloating(cast=True, line=(code, _)) if any(Trait.WRITES_BYTES in op.traits for op in after):
                    broken = replace(broken, through="f" if code is None or code.co_name.startswith("<") else code.co_name)
                case OutsideTape(step=Step() as step, early=False):
                    broken = replace(broken, parts=view.of_several_tapes(step))
                case InnerGradient(line=(code, _)) if case.call is not None and code not in (None, case.call.line[0]):
                    broken = replace(broken, function=code.co_qualname.rpartition("<locals>.")[2])
                case Stopped() if view.tape is None or not view.tape.persistent:  # such a tape is asked for one target only
                    end = dead_end(view, case.source, self.history.before(case.targets))
                    broken = replace(broken, forgotten=end if end is not None and never_read(end) else None)
                case State(step=Step() as step) if (changed := self.history.held_by(step.name)) is not None:
                    if changed.trainable:
                        broken = replace(broken, model=self._holders("stateless_call").get(changed._uid))
                    else:
                        broken = replace(broken, metric=self._holders("update_state").get(changed._uid))
            told.append(broken)
        return told

    def _at_calls(self, breaks: Sequence[Evidence], asked: Line) -> list[Evidence]:
        """Move each break to the statement beside the tape that caused it; `asked` is the line of the gradient call."""
        found: list[Evidence] = []
        for k, broken in enumerate(breaks):
            methods = [code is not None and code.co_varnames[:1] == ("self",) for code, _ in (broken.line, asked)]
            if isinstance(broken, Unused) and methods != [True, False]:  # such a method is another object's
                broken = replace(broken, line=set_before(self.target, broken.line, asked))
            found.append(broken.beside(asked, breaks[k + 1 :]) if isinstance(broken, Placed) else broken)
        return merged(found)

    def name_of(self, source: Any) -> str:
        """Return the source's name in the user's code."""
        return name_of(source, self._frame, self._paths) or _own_name(source)

    def found(self, sources: Sequence[Any], lacks: Sequence[str], answers: Sequence[Diagnosis]) -> list[Found]:
        """Return the flaw of each source, by its name in the user's code, with its Diagnosis."""
        return [(Lack(self.name_of(s), what), answer) for s, what, answer in zip(sources, lacks, answers, strict=True)]

    def _held_by(self, name: Name) -> str | None:
        """Return the name of the variable that holds or held a value, in the user's code."""
        variable = self.history.held_by(name)
        return None if variable is None else self.name_of(variable)

    def _words(self, case: Case) -> Words:
        named, line = name_of(case.asked, self._frame, self._paths), text.NO_LINE if case.call is None else case.call.line
        call = case.call if case.call is not None and case.key in case.call.sources else None
        elsewhere = call is not None and (self._frame is None or line[0] is not self._frame.f_code)
        given, source = None, named or _own_name(case.asked)
        if call is not None and (elsewhere or not named):  # name the source as the asking function does, not the explaining one
            given = text.argument(line, call.sources.index(case.key))
        tape = (text.tape_of(line) if elsewhere else None) or self._name_of_tape(case.view.tape)
        return Words(source, self.target, tape, given or source, line, self.name_of, self._held_by)

    # -- with values

    def about_zeros(self, sources: Sequence[Any]) -> list[Diagnosis]:
        """Return the diagnoses of sources that have a gradient: "connected", or the reason for zeros."""
        return self._with_values(sources, self._about_zero, NO_VALUES) or []

    def _about_zero(self, probe: Probe, i: int, source: Any, known: Case | None = None) -> Diagnosis:
        gradient = probe.gradient(i)
        if gradient is not None and (not gradient.size or np.any(gradient)):
            return CONNECTED
        case = known or self._case(source)
        if gradient is not None:
            breaks = flat_places(probe, i)
        elif way := case.view.way(case.source, case.targets):
            breaks = merged(case.view.faults(way)) or [untaken(self.history, way)]
        else:
            breaks = self._apart(case)
        return self._words(case).diagnoses(breaks)

    def about_nan(self, sources: Sequence[Any]) -> list[Diagnosis] | None:
        """Return the origin of the NaN or infinity in each gradient; None without a record to run again."""
        found = self._with_values(sources, self._about_nan, None)
        if found is None or self._inside is None or all(answer.connected for answer in found):
            return found
        self._inside = self._inside.while_finite()  # values that were not finite before this step come from an earlier one
        earlier = self._with_values(sources, self._about_nan, None) or found
        return [now if before.connected else before for before, now in zip(earlier, found, strict=True)]

    def _about_nan(self, probe: Probe, i: int, source: Any) -> Diagnosis:
        gradient = probe.gradient(i)
        finite = gradient is None or bool(np.isfinite(gradient).all())
        found = origin_of_target(probe, self._held_by) if finite else origin(probe, i, self._held_by)
        return CONNECTED if found is None else self._words(self._case(source)).diagnosis(found)

    def flaws(self, call: Asked, flaw: Callable[[np.ndarray], str | None]) -> Iterator[tuple[int | str, str, str, Diagnosis]]:
        """Yield the gradients of a call in the open function in which `flaw` finds something, or else its target.

        Each is `(position or "target", name of the source, flaw, why)`.
        """
        assert self._inside is not None
        self.target = text.target_of(call.line) or self.target
        places = [i for i, given in enumerate(call.results or ()) if given]
        sources = [(call.sources[i], self._inside.variable(call.sources[i])) for i in places]
        found = again(self._inside, call.tape, call.targets, sources)
        if found is None:
            return
        with own_trace():
            probe = Probe(found.tape, found.sources)
            probe.backward(found.targets)
            finite = True
            for i, (place, source) in enumerate(zip(places, found.sources, strict=True)):
                gradient = probe.gradient(i)
                what = "zeros" if gradient is None else flaw(gradient)  # sources without a cotangent are unused in this run
                if what is None:
                    continue
                finite = finite and what == "zeros"
                case = self._seen(source, call, call.tape, call.targets, call.sources[place])
                found_at = origin(probe, i, self._held_by) if what in ("NaN", "infinite") else None
                why = self._about_zero(probe, i, source, case) if found_at is None else self._words(case).diagnosis(found_at)
                yield place, self.name_of(source), what, why
            if finite and found.sources and (made := origin_of_target(probe, self._held_by)) is not None:
                what = "NaN" if made.code == "nan_origin" else "infinite"
                yield "target", self.target, what, self._words(self._case(found.sources[0])).diagnosis(made)

    def _with_values(
        self, sources: Sequence[Any], say: Callable[[Probe, int, Any], Diagnosis], otherwise: Diagnosis | None
    ) -> list[Diagnosis] | None:
        """Return a diagnosis for each source, made by `say` from the values.

        A source without values gets `otherwise`; the result is None if `otherwise` is None.
        """
        answers: list[Any] = [otherwise] * len(sources)
        for indices, found in self._again(sources):
            if found is not None:
                with own_trace():
                    probe = Probe(found.tape, found.sources)
                    probe.backward(found.targets)
                    for i, index in enumerate(indices):
                        answers[index] = say(probe, i, sources[index])
            elif otherwise is None:
                return None
        return answers

    def _again(self, sources: Sequence[Any]) -> Iterator[tuple[list[int], Again | None]]:
        """Yield, for each gradient call, the positions of its sources and the record to run again."""
        if self._inside is None:
            tape = self._recorded(sources)
            yield list(range(len(sources))), None if tape is None else Again(tape, sources, self._targets)
            return
        cases = [self._case(source) for source in sources]
        for call in dict.fromkeys([case.call for case in cases]):
            indices = [i for i, case in enumerate(cases) if case.call is call]
            first, of_call = cases[indices[0]], [(cases[i].key, sources[i]) for i in indices]
            yield indices, again(self._inside, first.view.tape, first.targets, of_call)

    def _recorded(self, sources: Sequence[Any]) -> GradientTape | None:
        """Return a tape that can be run again: the given one, that of the latest gradient call, or the kept step."""
        taped = self._case(sources[0]).view.tape if sources else self._taped(None)
        tapes: list[GradientTape | None] = [self._tape, None if taped is None else taped.tape(), kept_step.tape]
        for tape in tapes:
            if tape is not None and tape._segments and (taped is None or tape._record is taped):
                return tape
        return None

    # -- which call, which tape

    def _case(self, source: Any) -> Case:
        """Return the latest gradient call with this source, on the given tape if any, and its targets."""
        key = _key(source)
        if self._inside is not None:
            return self._case_inside(source, self._inside, key)
        calls = [c for c in self.history.calls if key in c.sources and (self._tape is None or c.tape is self._tape._record)]
        about = [c for c in calls if set(self._names) & set(c.targets)]  # other threads may have asked about the same source
        call = about[-1] if about else calls[-1] if calls else None
        return self._seen(source, call, self._taped(call), self._names, key)

    def _case_inside(self, source: Any, inside: Inside, outer: int | Name) -> Case:
        """Return the case inside of a function. The function may return another value than the call's target."""
        keys = inside.keys(outer)
        call = inside.call(keys)
        targets = [inside.innermost(name) for name in self._names]
        if call is None:
            return self._seen(source, None, inside.tapes[-1] if inside.tapes else None, targets, keys[-1])
        key = next((k for k in keys if k in call.sources), keys[-1])
        same = [name for name in call.targets if name in inside.wanted]
        if same or key in call.sources or not targets:
            targets = same or call.targets
        return self._seen(source, call, call.tape, targets, key)

    def _seen(self, asked: Any, call: Asked | None, tape: Taped | None, targets: Sequence[Name], key: int | Name) -> Case:
        """Return the case of a source as a tape saw it."""
        view, inexact = View(self.history, tape), (asked._tensor if isinstance(asked, Variable) else asked).node.aval.inexact
        if isinstance(asked, Variable):
            since = min([serial for serial, _, _ in view.segments], default=0)
            source = Source(self.history.holdings(asked._uid, since), asked._made, inexact, asked, self._in_graph)
        else:
            assert isinstance(key, tuple)
            source = Source([key], self.history.line_of(key), inexact, in_graph=self._in_graph)
        return Case(asked, call, targets, key, view, source)

    def _taped(self, call: Asked | None) -> Taped | None:
        if self._in_graph:  # `tf.gradients` differentiates the graph and ignores tapes
            return None
        if self._tape is not None:
            if self._tape._recording:
                self._tape._note()
            return self._tape._record
        if call is not None:
            return call.tape
        return self.history.tapes[-1] if self.history.tapes else None

    def _without_way(self, case: Case) -> Apart:
        view, asked, targets = case.view, case.asked, case.targets
        names = {self.name_of(asked)} | names_of(asked, self._frame)
        names |= {f"self.{name.rsplit('.', 1)[1]}" for name in names if "." in name}
        names |= holders(asked, self._frame, self.history.used_variables(targets))
        return Apart(view, case.source, targets, names, self._frame, self.history.before(targets))

    def _breaks(self, case: Case, none: bool) -> list[Evidence]:
        """Return all breaks on the path, ordered from the source to the target; `none` says that the call gave None."""
        view, source, targets = case.view, case.source, case.targets
        if not source.inexact and (fault := view.first_fault(source, None)) is not None:
            return [fault]
        way = view.way(source, targets) if targets else None
        if way is None and targets and source.variable is not None:
            earlier = source.holding(self.history.holdings(source.variable._uid))
            if (found := view.way(earlier, targets)) is not None and not _through_state(view, found):
                source, way = earlier, found
                case = case._replace(source=earlier)
        if way is None:
            return self._apart(case)
        if _through_state(view, way) and (instead := called_instead(self._without_way(case))):
            return [instead]
        first = view.first_fault(source, way[0][1] if way else None)
        if isinstance(first, NotWatched):
            first = self._rebound(case) or self._succeeded(case) or first
        breaks = [*([first] if first is not None and way else []), *view.faults(way)]
        breaks = self._of_earlier_steps(case, way, breaks)
        if not breaks:
            breaks = [NotDifferentiable(step.line, step.how, step) for name, step in way if view.silent(name, step)]
        if not breaks and none:
            users = [step for _, step in way if step.op is not None and (step.op is CUSTOM or step.op.impure)]
            breaks = [NotDifferentiable(step.line, step.how, step) for step in users]
            breaks = breaks or [Unknown(text.NO_LINE)]
        told = merged(without_inner(view, breaks) + view.on_other_ways(source, targets, way, breaks))
        early = bool(told) and all(b.early for b in told)
        return (left_under_tape(view, source, targets) if early else []) or told

    def _of_earlier_steps(self, case: Case, way: Sequence[tuple[Name, Step]], breaks: Sequence[Evidence]) -> list[Evidence]:
        """Move each break at an op of an earlier step to the line of this step that takes the op's value."""
        call, steps, told = case.call, [step for _, step in way], list(breaks)
        block = set() if call is None else {n.lineno for n in statements_under_tape(call.line)}
        for k, broken in enumerate(breaks):
            own = call is not None and broken.line[0] is call.line[0] and text.number(broken.line) in block
            if isinstance(broken, OtherTape) and broken.step is not None and own:
                after = next((step for step in steps[steps.index(broken.step) :] if case.view.sees(step.at)), None)
                if after is not None and not text.same_line(after.line, broken.line):
                    told[k] = replace(broken, into=broken.line, line=after.line)
        return told

    def _rebound(self, case: Case) -> Evidence | None:
        """Return the statement that replaced a Variable by the source, a tensor computed from that Variable."""
        if self._frame is None or case.source.variable is not None:
            return None
        before = [step for name in self.history.before(case.source.names) if (step := self.history.steps.get(name)) is not None]
        variables = {text.target(step.line) for step in before if step.how == "variable"}
        own = self.history.line_of(case.source.names[0])
        for name, codes in places_of(case.asked, self._frame):
            if name in variables or self.history.variables.intersection(step.name for step in before):
                line = own if name in variables and text.sets(own, name) else text.rebinding(name, codes)
                if line is not None:
                    return Rebound(line, name=name)
        return None

    def _succeeded(self, case: Case) -> Evidence | None:
        """Return the statement of a functional update that put the source, a tensor, in the place of a Variable.

        In an earlier gradient call of the same line the Variable was a source, and the tensor was computed from its result.
        """
        call, key = case.call, case.source.names[0]
        own = self.history.line_of(key)
        if call is None or key not in call.sources or own[0] is None:
            return None
        at, used = call.sources.index(key), [name for name in self.history.before([key]) if len(name) == 2]
        earlier = [c for c in self.history.calls if text.same_line(c.line, call.line) and at < len(c.sources)]
        if not any(isinstance(c.sources[at], int) and any(c.start <= name < c.stop for name in used) for c in earlier):
            return None
        path = name_of(case.asked, self._frame) or ""
        root = re.split(r"\W", path)[0]
        codes = [code for code in (call.line[0], *text.codes_of(self._frame)) if code is not None]
        line = text.rebinding(root, codes) if root else None
        return Rebound(line or own, name=root or path, held=True)

    def _apart(self, case: Case) -> list[Evidence]:
        view, source = case.view, case.source
        if source.number is None and not case.targets and (rebound := view.rebinding(source.names[0])) is not None:
            return [rebound]
        if not self._targets and self._foreign:
            return exit_of(view, source) or [Unused(text.NO_LINE)]
        if not case.targets:  # the given target is None, and no gradient call had the source
            return [Unknown(text.NO_LINE, asked=False)]
        return apart(self._without_way(case))


def _key(source: Any) -> int | journal.Origin:
    """Return the source's key in an `Asked`."""
    return source._uid if isinstance(source, Variable) else journal.origin_of(source.node)


def _own_name(source: Any) -> str:
    """Return the name that a source carries itself: for a Keras variable, its path."""
    return (source._path or source.name) if isinstance(source, Variable) else "the source"


def held_node(value: Any) -> Node:
    """Return the node of a tensor, or of a variable's present value."""
    return value.held() if isinstance(value, Variable) else value.node


def _through_state(view: View, way: Sequence[tuple[Name, Step]]) -> bool:
    """Return whether a path goes through an assigned variable. By such paths all trained values depend on each other."""
    return any(isinstance(view.fault(name, step), State) for name, step in way)
