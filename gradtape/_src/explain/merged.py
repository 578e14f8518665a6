"""The breaks on one path, merged for the answer: one for each line and reason."""

from __future__ import annotations

from collections.abc import Sequence

from gradtape._src.explain import source as text
from gradtape._src.explain.breaks import View
from gradtape._src.explain.codes.instead import Stale
from gradtape._src.explain.codes.ops import Index
from gradtape._src.explain.codes.placed import InnerGradient, OtherTape, OutsideTape
from gradtape._src.explain.codes.state import State
from gradtape._src.explain.codes.watching import Rebound
from gradtape._src.explain.evidence import Evidence


def merged(breaks: Sequence[Evidence]) -> list[Evidence]:
    """Merge breaks that have the same line and reason. An assignment also hides an op of its line that ran outside the tape."""
    told: list[Evidence] = []
    for k, b in enumerate(breaks):
        after = [o for o in breaks[k:] if text.same_line(o.line, b.line)]
        before = [m for m in told if text.same_line(m.line, b.line)]
        states = [o for o in after if isinstance(o, State)]
        match b:
            case Stale():  # the op that ran too early is the reason; the variable was only read for it
                hidden = any(isinstance(o, (OutsideTape, OtherTape, InnerGradient)) for o in after)
            case Index(index=str(chosen)) if chosen:  # ops that only transform an index are not reported themselves
                hidden = any(isinstance(m, Index) and m.index for m in before)
            case State():  # the assigned name is reported instead of the new Variable
                hidden = any(isinstance(m, Rebound) for m in before)
            case OutsideTape():
                hidden = bool(states)
            case _:
                hidden = False
        if not isinstance(b, State) and any(o.of_a_metric for o in states):
            continue  # a metric computes with the value before storing it; only the storing is reported
        if not hidden and not any(b.code == m.code and (b.line == m.line or m in before) for m in told):
            told.append(b)
    return told


def without_inner(view: View, breaks: list[Evidence]) -> list[Evidence]:
    """Remove the breaks at ops that an inner tape recorded before its gradient: the fix is to nest the tapes."""
    for k, b in enumerate(breaks):
        if isinstance(b, InnerGradient) and b.inner is not None:
            return [o for o in breaks[:k] if o.step is None or not view.sees(o.step.at, b.inner)] + breaks[k:]
    return breaks
