"""`explain`: why a gradient is None, after the fact, from the journal."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from types import FrameType
from typing import Any

from gradtape._src.autodiff.custom import CUSTOM
from gradtape._src.autodiff.tape import GradientTape
from gradtape._src.core import journal, nest
from gradtape._src.core.errors import internal, public
from gradtape._src.core.indexed_slices import IndexedSlices
from gradtape._src.core.journal import Asked, Taped
from gradtape._src.core.program import Node
from gradtape._src.core.tensor import Tensor
from gradtape._src.core.variable import Variable
from gradtape._src.explain import source as text
from gradtape._src.explain.apart import apart, exit_of
from gradtape._src.explain.breaks import Break, Source, View
from gradtape._src.explain.diagnosis import Diagnosis
from gradtape._src.explain.history import History, Name
from gradtape._src.explain.words import Words

CONNECTED = Diagnosis("connected", cause="There is a gradient.")


@public
def explain(target: Any, sources: Any, tape: GradientTape | None = None) -> Any:
    """Why the gradient of `target` with respect to each of `sources` is None: a nest of `Diagnosis` like `sources`.

    Answers after the fact, from what the library remembers of the last programs that ran; nothing is run again. Without
    `tape` the answer is about the latest gradient call that had these sources. TypeError for a source that is neither a
    tensor nor a variable.

    >>> x = tf.constant(3.0)
    >>> with tf.GradientTape() as tape:
    ...     y = x * x
    >>> tape.gradient(y, x) is None
    True
    >>> tf.autodiff.explain(y, x).code
    'not_watched'
    """
    frame: FrameType | None = sys._getframe(1)
    while frame is not None and internal[frame.f_code.co_filename]:
        frame = frame.f_back
    flat, spec = nest.flatten_with_spec(sources)
    for s in flat:
        if not isinstance(s, (Tensor, Variable, IndexedSlices)):
            raise TypeError(
                f"The source {s!r} of type {type(s).__name__} is no tensor or variable, so nothing was recorded of it. Pass the "
                "Variable, or the tensor that was watched."
            )
    question = Question(target, tape, frame)
    return nest.unflatten(spec, [question.about(s) for s in flat])


class Question:
    """One target, and the tape that is asked if one was given; `about` answers for a source."""

    def __init__(self, target: Any, tape: GradientTape | None, frame: FrameType | None) -> None:
        self._tape, self._frame = tape, frame
        parts = [t.values if isinstance(t, IndexedSlices) else t for t in nest.flatten(target)]
        self._targets = [t for t in parts if isinstance(t, (Tensor, Variable))]
        self._foreign = [t for t in parts if not isinstance(t, (Tensor, Variable))]
        self._nodes = [_node(t) for t in self._targets]
        traces = [] if tape is None else [segment.trace for segment in tape._segments]
        self._history = History(self._nodes, traces)
        self._names: list[Name] = [journal.origin_of(n) for n in self._nodes]
        self._called = (text.name_of(target, frame) if self._targets else None) or "the target"
        self._tape_name = (tape is not None and text.name_of(tape, frame)) or self._name_of_tape() or "tape"

    def _name_of_tape(self) -> str | None:
        frame = self._frame
        for names in (frame.f_locals, frame.f_globals) if frame is not None else ():
            for name, held in list(names.items()):
                if isinstance(held, GradientTape) and not name.startswith("_"):
                    return name
        return None

    def about(self, source: Any) -> Diagnosis:
        """The Diagnosis of one source."""
        if isinstance(source, IndexedSlices):
            source = source.values
        call = self._call(source)
        self._said_none = False
        known = self._by_call(source, call)
        if known is not None:
            return known
        view = View(self._history, self._taped(call), journal.calls)
        found = self._source(source, view)
        called = text.name_of(source, self._frame) or (source.name if isinstance(source, Variable) else "the source")
        words = Words(called, self._called, self._tape_name)
        breaks = self._breaks(view, found, self._spoken_names(source, called))
        if not breaks:
            if view.tape is not None and view.tape.consumed is not None and not view.tape.persistent:
                breaks = [Break("tape_used", view.tape.consumed)]
            else:
                return CONNECTED
        also = tuple([words.diagnosis(b) for b in breaks[1:]])
        return words.diagnosis(breaks[0], also)

    def _call(self, source: Any) -> Asked | None:
        """The latest gradient call that had this source (and, if a tape was given, was that tape's)."""
        key = source._uid if isinstance(source, Variable) else journal.origin_of(source.node)
        calls = [c for c in journal.calls if key in c.sources and (self._tape is None or c.tape is self._tape._record)]
        return calls[-1] if calls else None

    def _by_call(self, source: Any, call: Asked | None) -> Diagnosis | None:
        """What the call's own result says already."""
        if call is None or not set(self._names) & set(call.targets):
            return None
        if call.refused:
            line = call.tape.consumed or text.NO_LINE
            return Words("the source", self._called, self._tape_name).diagnosis(Break("tape_used", line))
        key = source._uid if isinstance(source, Variable) else journal.origin_of(source.node)
        if call.results is not None:
            self._said_none = not call.results[call.sources.index(key)]
            return None if self._said_none else CONNECTED
        return None

    def _taped(self, call: Asked | None) -> Taped | None:
        if self._tape is not None:
            if self._tape._recording:
                self._tape._note()
            return self._tape._record
        if call is not None:
            return call.tape
        return journal.tapes[-1] if journal.tapes else None

    def _source(self, source: Any, view: View) -> Source:
        node = _node(source)
        if not isinstance(source, Variable):
            name = journal.origin_of(node)
            return Source([name], self._history.line_of(name), node.aval.inexact)
        since = min([serial for serial, _, _ in view.segments], default=0)
        return Source(self._history.holdings(source._uid, since), source._made, node.aval.inexact, source)

    def _spoken_names(self, source: Any, called: str) -> set[str]:
        names = {called}
        for frame_names in (self._frame.f_locals, self._frame.f_globals) if self._frame is not None else ():
            names.update(name for name, held in list(frame_names.items()) if held is source)
        attributes = {name.rsplit(".", 1)[1] for name in names if "." in name}
        return names | {f"self.{attribute}" for attribute in attributes}

    def _breaks(self, view: View, source: Source, spoken: set[str]) -> list[Break]:
        """All breaks on the way, in order from the source."""
        if not source.inexact and view.first_fault(source, None) is not None:
            return [b for b in [view.first_fault(source, None)] if b is not None]
        way = view.way(source, self._names) if self._names else None
        if way is None:
            return [self._apart(view, source, spoken)]
        first = view.first_fault(source, way[0][1] if way else None)
        breaks = [first] if first is not None and way else []
        breaks += [b for name, step in way if (b := view.fault(name, step)) is not None]
        if not breaks:
            breaks = [Break("not_differentiable", step.line, step.how, step) for name, step in way if view.silent(name, step)]
        if not breaks and self._said_none:
            users = [step for _, step in way if step.op is not None and (step.op is CUSTOM or step.op.impure)]
            breaks = [Break("not_differentiable", step.line, step.how, step) for step in users]
            breaks = breaks or [Break("unknown", text.NO_LINE)]
        return _merged(breaks)

    def _apart(self, view: View, source: Source, spoken: set[str]) -> Break:
        if source.number is None and (rebound := view.rebinding(source.names[0])) is not None and not self._names:
            return rebound
        if not self._targets and self._foreign:
            return exit_of(view, source) or Break("unused", text.NO_LINE)
        return apart(view, source, self._names, spoken)


def _merged(breaks: Sequence[Break]) -> list[Break]:
    """Several ops of one line, broken for one reason, are one break."""
    merged: list[Break] = []
    for b in breaks:
        if not any(b.code == m.code and (b.line == m.line or text.same_line(b.line, m.line)) for m in merged):
            merged.append(b)
    return merged


def _node(value: Any) -> Node:
    return value.held() if isinstance(value, Variable) else value.node
