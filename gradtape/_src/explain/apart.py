"""Reasons why no op leads from a source to a target: an exit from the library, a branch not taken, a replaced object."""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Iterable
from dataclasses import replace
from types import FrameType
from typing import NamedTuple

from gradtape._src.core.declarations.define import AT_ONCE
from gradtape._src.core.programs import journal
from gradtape._src.core.programs.journal import Left, Line
from gradtape._src.core.programs.op import ops
from gradtape._src.explain import source as text
from gradtape._src.explain.breaks import Source, View
from gradtape._src.explain.callers import scope_of
from gradtape._src.explain.codes.branches import not_taken
from gradtape._src.explain.codes.exits import LeftLibrary, at_exit
from gradtape._src.explain.codes.instead import called_instead
from gradtape._src.explain.codes.ops import NotDifferentiable
from gradtape._src.explain.codes.unused import dead_end, linear
from gradtape._src.explain.evidence import Evidence, of_no_way
from gradtape._src.explain.history import COPIES, History, Name
from gradtape._src.explain.syntax import FUNCTIONS, named_in, within
from gradtape._src.ops.array.extents import _size

INTO_A_VARIABLE = re.compile(r"\.(?:set_weights|assign\w*|load_weights)\(")
WAYS_OUT = {"numpy", "__array__", "float", "int", "complex", "dlpack", "jax", "dataset"}


class Apart(NamedTuple):
    """A source from which no op leads to the targets, which `used` other values.

    `names` are its names in the code, and those of objects that hold it but no used variable. `frame` is the frame that asks.
    `left` is the value's exit from the library. `end` is the last line that used the value.
    """

    view: View
    source: Source
    targets: Iterable[Name]
    names: set[str]
    frame: FrameType | None
    used: dict[Name, None]
    left: Left | None = None
    end: Line | None = None

    @property
    def made(self) -> Line:
        """The line that computed the target."""
        lines = map(self.view.history.line_of, self.targets)
        return next((line for line in lines if line[0] is not None), text.NO_LINE)


def apart(case: Apart) -> list[Evidence]:
    """Return the reasons, in order from the source."""
    view, source, history = case.view, case.source, case.view.history
    if (instead := called_instead(case)) is not None:
        data = _left(view, source, history.since_state(case.targets))
        if data is None or _copied_out(view, source, data) or INTO_A_VARIABLE.search(text.text(data.line) or ""):
            return [not_taken(case) or instead]
    left = _left(view, source, case.used)
    early = left is not None and view.tape is not None and left.number < view.tape.number
    if early and linear(history, source, history.since_state(case.targets)) is not None:
        left = None  # an exit before the tape opened does not matter to a target that is itself a gradient
    if left is not None and not _copied_out(view, source, left):
        return until(view, source, left)
    end = None if source.variable is None else dead_end(view, source, case.used)
    found = of_no_way.first(case._replace(left=left, end=end))
    assert found is not None
    return [found]


@of_no_way(50)
def _decided(case: Apart) -> Evidence | None:
    """Return the break of a source that only decides on a branch, the trips of a loop, or the selected elements."""
    view, source, used = case.view, case.source, case.used
    since = 0 if view.tape is None else view.tape.number
    exits = [left for left in view.history.exits if left.number > since]
    for left in exits:
        if left.how == "size" and (broken := _counted(view, source, left)) is not None:
            return broken
    conditions = [view.history.deciding[name] for name in used if name in view.history.deciding]
    conditions += [left.origin for left in exits if left.how == "bool"]  # conditions of Python's `if`
    indices = [left.origin for left in exits if left.how in ("index", "mask") or _picks(left)]
    for decides, names in (("branch", conditions), ("index", indices)):
        way = (view.way(source, names) if names else None) or []
        breaks = view.faults(way)
        if breaks and not any(step.of_shapes for _, step in way):
            return replace(breaks[0], decides=decides)
    counted = [left for left in _exits(view.history, source) if left.number > since and text.in_a_header(left.line)]
    return LeftLibrary(counted[-1].line, how=counted[-1].how, decides="branch") if counted else None


def _picks(left: Left) -> bool:
    """Return whether a number that left the library is the index of a Python object, as in `experts[int(best)]`."""
    if left.how not in ("int", "numpy"):
        return False
    name, at = text.stored_name(left.line), text.number(left.line)
    taken = [n for n in within(scope_of(left.line), ast.Subscript) if isinstance(n.ctx, ast.Load)]
    return any(name in named_in(n.slice) or (n.lineno == at and within(n.slice, ast.Call)) for n in taken)


def _counted(view: View, source: Source, left: Left) -> Evidence | None:
    """Return the break of a source that decides how many elements a counted value has."""
    history = view.history
    way = view.way(source, [left.origin])
    masked = [e for e in history.exits if e.how == "mask" and e.number < left.number and e.origin in history.after(source.names)]
    steps = [history.steps[name] for name in history.before([left.origin]) if name in history.steps]
    chosen = masked or any(step.op is not None and step.op.unhosted == AT_ONCE for step in steps)
    if way is None or not chosen:
        return None
    breaks = view.faults(way)
    counts = NotDifferentiable(left.line, _size.op.type, reason="it counts elements, whatever their values are")
    return replace(breaks[0] if breaks else counts, decides="size")


# -- the value left the library


def exit_of(view: View, source: Source) -> list[Evidence]:
    """Return the last exit of a value that depends on the source, and the breaks before it; for a target that is no tensor."""
    exits = _exits(view.history, source)
    return until(view, source, exits[-1]) if exits else []


def left_under_tape(view: View, source: Source, targets: Iterable[Name]) -> list[Evidence]:
    """Return the exit of a value under this tape on the way to the target, if the tape recorded the whole path to the exit."""
    left = _left(view, source, view.history.before(targets))
    if left is None or view.tape is None or left.number < view.tape.number:
        return []
    return [] if view.faults(view.way(source, [left.origin]) or []) else until(view, source, left)


def until(view: View, source: Source, left: Left) -> list[Evidence]:
    """Return the breaks on the path from the source to an exit, followed by the exit."""
    way = view.way(source, [left.origin]) or []
    first = view.first_fault(source, way[0][1] if way else None)
    breaks = [*([] if first is None or source.number is not None else [first]), *view.faults(way)]
    breaks = [b for b in breaks if not text.same_line(b.line, left.line)]
    early = view.tape is not None and left.number < view.tape.number and any(step.op not in COPIES for _, step in way)
    last = at_exit(left, early)
    if text.in_a_header(left.line) and left.how in ("int", "float", "numpy"):
        last = replace(last, decides="branch")
    return [*breaks, last]


def _copied_out(view: View, source: Source, left: Left) -> bool:
    """Return whether the source's value left unchanged, as when weights are copied into another object."""
    way = view.way(source, [left.origin])
    return left.how in ("numpy", "__array__") and way is not None and all(step.op in COPIES for _, step in way)


def _exits(history: History, source: Source) -> list[Left]:
    """Return all exits of values that depend on the source."""
    reached = history.after(source.names)
    return [e for e in history.exits if (e.how in WAYS_OUT or e.how in ops) and e.origin in reached]


def _left(view: View, source: Source, used: dict[Name, None]) -> Left | None:
    """Return the last exit of a value that depends on the source, before the target's own inputs were made."""
    history = view.history
    exits = [left for left in _exits(history, source) if not text.is_shown(left.line)]
    if not exits:
        return None
    used = history.before([*used, *history.hidden(used)])
    exits = [left for left in exits if _is_read(history, used, left.line)]
    leaves = [n for n in used if len(n) == 2 and n[0] == 0 and n not in history.variables and n not in history.steps]
    elements = any(name not in history.lines for name in leaves)  # those of a Dataset are leaves without a line
    entered = max([name[1] for name in leaves if name in history.lines and _computed(history.lines[name])], default=0)
    before = [left for left in exits if left.number < entered or (elements and left.how == "dataset")]
    if before:
        return max(before, key=lambda left: left.number)
    steps = [history.steps[name] for name in used if name in history.steps]
    moments = [step.at for step in steps if any(map(_constant, step.inputs)) and _computed(step.line)]
    return next((e for e in reversed(exits) if any(at >= e.moment for at in moments)), None)


def _is_read(history: History, used: dict[Name, None], line: Line) -> bool:
    """Return whether a statement's names may be read afterwards: in a function, or in a module up to the last used value."""
    found, whole = text.statement(line), text.tree(text.file(line))
    if whole is None or not isinstance(found, ast.Assign) or not all(isinstance(t, ast.Name) for t in found.targets):
        return True
    names = {t.id for t in found.targets if isinstance(t, ast.Name)}
    reads = [n for n in within(whole, ast.Name) if n.id in names and isinstance(n.ctx, ast.Load)]
    functions = within(whole, (*FUNCTIONS, ast.Lambda))
    spans = [range(n.lineno, (n.end_lineno or n.lineno) + 1) for n in functions]
    if text.in_a_loop(line) or any(found.lineno in span for span in spans):
        return bool(reads)
    computed = [text.number(other) or 0 for other in map(history.line_of, used) if text.file(other) == text.file(line)]
    until = max(computed, default=sys.maxsize)
    if found.lineno <= until <= (found.end_lineno or until):  # the statement itself computes the last of the used values
        return True
    return any(n.lineno <= until or any(n.lineno in span for span in spans) for n in reads)


def _constant(name: Name) -> bool:
    return name == journal.NUMBERS or (len(name) > 2 and name[-2] == "constant")


def _computed(line: Line) -> bool:
    """Return whether an expression may use a value of the program: it has operands other than literals."""
    match text.expression_at(line):
        case ast.Call(args=args, keywords=named):
            given = [*args, *[k.value for k in named if k.arg != "dtype"]]
            return not given or any(map(named_in, given))  # a call without arguments is a function of the program
        case ast.BinOp(left, _, right):
            return bool(named_in(left) and named_in(right))
    return True
