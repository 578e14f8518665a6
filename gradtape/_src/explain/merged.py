"""The breaks on one way as they are told: one for each line and reason, and what several of them have in common."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from gradtape._src.core.programs.journal import Line
from gradtape._src.core.programs.op import ops
from gradtape._src.core.programs.traits import Trait
from gradtape._src.explain import source as text
from gradtape._src.explain.breaks import View
from gradtape._src.explain.codes.objects import Stale
from gradtape._src.explain.codes.ops import Index, NotFloating
from gradtape._src.explain.codes.placed import InnerGradient, OtherTape, OutsideTape
from gradtape._src.explain.codes.state import State
from gradtape._src.explain.codes.watching import Rebound
from gradtape._src.explain.evidence import Evidence


def merged(breaks: Sequence[Evidence]) -> list[Evidence]:
    """Merge breaks of one line and one reason into one. So is an assignment, wherever what it takes was computed."""
    told: list[Evidence] = []
    for k, b in enumerate(breaks):
        after = [o for o in breaks[k:] if text.same_line(o.line, b.line)]
        before = [m for m in told if text.same_line(m.line, b.line)]
        states = [o for o in after if isinstance(o, State)]
        match b:
            case Stale():  # the variable was read for an op, and that is what ran too early
                hidden = any(isinstance(o, (OutsideTape, OtherTape, InnerGradient)) for o in after)
            case Index(index=str(chosen)) if chosen:  # what is done with an index before it is used
                hidden = any(isinstance(m, Index) and m.index for m in before)
            case State():  # a new Variable is what the name was given to
                hidden = any(isinstance(m, Rebound) for m in before)
            case OutsideTape():
                hidden = bool(states)
            case _:
                hidden = False
        if not isinstance(b, State) and any(o.of_a_metric for o in states):
            continue  # what a metric does with the value before it keeps it
        if not hidden and not any(b.code == m.code and (b.line == m.line or m in before) for m in told):
            told.append(b)
    return told


def without_inner(view: View, breaks: list[Evidence]) -> list[Evidence]:
    """Return the breaks without those of ops that an inner tape recorded before its gradient: that is what is to be nested."""
    for k, b in enumerate(breaks):
        if isinstance(b, InnerGradient) and b.inner is not None:
            return [o for o in breaks[:k] if o.step is None or not view.sees(o.step.at, b.inner)] + breaks[k:]
    return breaks


def _writes_bytes(op: str | None) -> bool:
    known = ops.get(op or "")
    return known is not None and Trait.WRITES_BYTES in known.traits


def through(breaks: Sequence[Evidence]) -> list[Evidence]:
    """Return the breaks with the function in which a cast is followed by what makes bytes: all of it has no derivative."""
    told = list(breaks)
    for k, b in enumerate(breaks):
        if isinstance(b, NotFloating) and b.cast and any(o.line[0] is b.line[0] and _writes_bytes(o.op) for o in breaks[k + 1 :]):
            code = b.line[0]
            told[k] = replace(b, through="f" if code is None or code.co_name.startswith("<") else code.co_name)
    return told


def of_another_object(line: Line, asked: Line) -> bool:
    """Return whether a line stands in a method, and the one that asks does not: what it computes is the object's own matter."""
    methods = [code is not None and code.co_varnames[:1] == ("self",) for code, _ in (line, asked)]
    return methods == [True, False]
