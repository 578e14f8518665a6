"""The breaks on one way as they are told: one for each line and reason, and what several of them have in common."""

from __future__ import annotations

import re
from collections.abc import Sequence

from gradtape._src.core.journal import Line
from gradtape._src.explain import source as text
from gradtape._src.explain.breaks import Break, View

BYTES_OF = {"EncodeJpeg", "EncodePng", "EncodeBmp", "EncodeWav", "AsString", "SerializeTensor"}


def merged(breaks: Sequence[Break]) -> list[Break]:
    """Merge breaks of one line and one reason into one. So is an assignment, wherever what it takes was computed."""
    told: list[Break] = []
    for k, b in enumerate(breaks):
        if b.detail.get("how") == "stale" and any(
            o.code in ("outside_tape", "other_tape") and text.same_line(o.line, b.line) for o in breaks[k:]
        ):
            continue  # the variable was read for an op, and that is what ran too early
        if b.code != "state" and any(o.code == "state" and text.same_line(o.line, b.line) and of_a_metric(o) for o in breaks[k:]):
            continue  # what a metric does with the value before it keeps it
        if b.detail.get("index") and any(m.detail.get("index") and text.same_line(m.line, b.line) for m in told):
            continue  # what is done with an index before it is used
        if b.code == "state" and any(m.code == "rebound" and text.same_line(m.line, b.line) for m in told):
            continue  # a new Variable is what the name was given to
        if b.code == "outside_tape" and any(o.code == "state" and text.same_line(o.line, b.line) for o in breaks[k:]):
            continue
        if not any(b.code == m.code and (b.line == m.line or text.same_line(b.line, m.line)) for m in told):
            told.append(b)
    return told


def of_a_metric(b: Break) -> bool:
    """Return whether an assignment is that of a metric's state."""
    return b.detail.get("metric") is not None or re.search(r"\.update_state\(|\.result\(", text.text(b.line) or "") is not None


def without_inner(view: View, breaks: list[Break]) -> list[Break]:
    """Return the breaks without those of ops that an inner tape recorded before its gradient: that is what is to be nested."""
    for k, b in enumerate(breaks):
        if b.detail.get("gradient") == "other tape":
            inner = b.detail["asked"]
            return [o for o in breaks[:k] if o.step is None or not view.sees(o.step.at, inner)] + breaks[k:]
    return breaks


def through(breaks: Sequence[Break]) -> None:
    """Note the function in which a cast is followed by what makes bytes of the value: all of it has no derivative."""
    for k, b in enumerate(breaks):
        if b.detail.get("how") == "cast" and any(o.line[0] is b.line[0] and o.op in BYTES_OF for o in breaks[k + 1 :]):
            code = b.line[0]
            b.detail["through"] = "f" if code is None or code.co_name.startswith("<") else code.co_name


def of_another_object(line: Line, asked: Line) -> bool:
    """Return whether a line stands in a method, and the one that asks does not: what it computes is the object's own matter."""
    methods = [code is not None and code.co_varnames[:1] == ("self",) for code, _ in (line, asked)]
    return methods == [True, False]
