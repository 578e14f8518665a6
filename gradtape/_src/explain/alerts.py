"""Reports without a request: reasons for None in the log, in an optimizer's warning and in errors; also `strict`."""

from __future__ import annotations

import contextlib
import logging
import sys
import warnings
from collections.abc import Container, Iterable, Sequence
from traceback import walk_stack
from types import TracebackType
from typing import Any

from gradtape._src.autodiff import tape
from gradtape._src.core.base import hooks, naming, public, tracebacks
from gradtape._src.core.platform.places import place
from gradtape._src.core.programs import journal
from gradtape._src.core.programs.journal import Asked, Line
from gradtape._src.core.tensors.convert import variable_of
from gradtape._src.explain import source as text
from gradtape._src.explain.diagnosis import Diagnosis, by_cause, listed
from gradtape._src.explain.explain import Question, remember

logger = logging.getLogger("gradtape")
MANY = 1024
# The modules whose frames may be between a gradient call and the user's line.
BETWEEN = (
    tape.__name__, public.__name__, naming.__name__, "gradtape._src.control.autograph", "gradtape._src.v1.graphs.gradients",
)  # fmt: skip
MOST_REASONS = 20  # reasons in one error
MOST_ASKED = 5  # sources for one warning
LOST = Diagnosis(
    "unknown",
    cause="the gradient is None, though all that leads from the source to the target was recorded and has a derivative",
    mend="this is a fault of gradtape: please report it. Try a tf.GradientTape that watches the source, or its `value`",
)
_warned: dict[Any, None] = {}  # lines with a report so far
_told: dict[Any, None] = {}  # causes in the log so far, which an optimizer's warning leaves out


def missing(call: Asked, sources: Sequence[Any], given: Sequence[bool], strict: bool) -> None:
    """Report the None results of a gradient call: if `strict` raise for the first, else log the reasons once per line."""
    lacking = [s for s, has in zip(sources, given, strict=True) if not has]
    if strict:
        raise _error(_of_none(_named(lacking[:1])[0][1]))
    if _asked_by_user() and _is_new(call.line, any(given)):
        with contextlib.suppress(Exception):  # a report must never break a running program
            _tell(_named(lacking[: MOST_REASONS if any(given) else MOST_ASKED]), any(given))


def graphed(targets: Sequence[Any], sources: Sequence[Any], results: Sequence[Any]) -> None:
    """Note a call of `tf.gradients` in a graph or function, and log the reasons for None as `missing` does."""
    given = [result is not None for result in results]
    if hooks.watch.graphed is None and all(given):
        return
    with contextlib.suppress(Exception):
        line, sources = journal.user_line(), list(map(variable_of, sources))
        question = Question(targets, None, in_graph=True)
        found = [None if has else _of_none(question.about(s)) for s, has in zip(sources, given, strict=True)]
        remember(sources, found)
        if hooks.watch.graphed is not None:
            hooks.watch.graphed(question, line, sources, found)
        lacking = [(question.name_of(s), d) for s, d in zip(sources, found, strict=True) if d is not None]
        if lacking and _asked_by_user() and _is_new(line, any(given)):
            _tell(lacking, any(given))


def unapplied(variables: Sequence[Any], total: int) -> None:
    """Warn once per line that an optimizer skips variables without a gradient, with the reasons that the log does not have."""
    line = journal.user_line()
    if hooks.watch.asked is not None or not _is_new(line, *map(id, variables)):
        return
    said: list[str] | None = None
    with contextlib.suppress(Exception):
        said = _reasons(variables, known=_told if logger.isEnabledFor(logging.WARNING) else ())
    if said is None or said:
        file, number = journal.file_and_number(line)
        words = f"Gradients do not exist for variables: {len(variables):,} of {total:,} have none.{''.join(said or ())}"
        warnings.warn_explicit(words, UserWarning, file or "<unknown>", number or 1)


def _is_new(line: Line, *more: Any) -> bool:
    """Return whether a line has no report yet, and mark it.

    The file is in the key, because equal code may be in several files.
    """
    key = line[0] and line[0].co_filename, line, *more
    return key not in _warned and _remember(_warned, key)


def _remember(known: dict[Any, None], one: Any) -> bool:
    if len(known) >= MANY:
        known.clear()
    known[one] = None
    return True


def _tell(found: Sequence[tuple[str, Diagnosis]], some: bool) -> None:
    """Log the reasons for sources without a gradient.

    If `some` others have one, None may be intended: only faults are logged, each cause once.
    """
    causes = by_cause(found)
    if not some:
        logger.warning("The gradient is None. %s", _in_one_line(_of_none(causes[0][1])))
        return
    for names, diagnosis in causes:
        if diagnosis.at_fault and diagnosis.code != "unknown":
            _remember(_told, diagnosis.place)
            logger.warning("The gradient of %s is None. %s", listed(names), _in_one_line(diagnosis))


def _of_none(diagnosis: Diagnosis) -> Diagnosis:
    """Return the Diagnosis of a source whose gradient is None; replace "connected", which cannot be true."""
    return LOST if diagnosis.connected else diagnosis


def _asked_by_user() -> bool:
    """Return whether the user's code asked for the gradient, not the library for its own purposes.

    False if a report of the whole run is being made, which has the reasons.
    """
    if hooks.watch.asked is not None:
        return False
    frame = next((frame for frame, _ in walk_stack(sys._getframe(2)) if frame.f_globals.get("__name__") not in BETWEEN), None)
    return frame is not None and not tracebacks.internal[frame.f_code.co_filename]


def reasons(sources: Sequence[Any], target: Any = None) -> str:
    """Return a line for each cause of None in the latest gradients, or in those of `target`; faults come first."""
    with contextlib.suppress(Exception):  # the error itself matters more than its reasons
        return "".join(_reasons(sources, target))
    return ""


def _reasons(sources: Sequence[Any], target: Any = None, known: Container[Any] = ()) -> list[str]:
    """Return the lines about causes that are not `known`."""
    found = _named(map(variable_of, sources[:MOST_REASONS]), target)
    causes = by_cause([(name, d) for name, d in found if not d.connected and d.place not in known])
    lines = [f"\n  {listed(names)}: {_in_one_line(diagnosis)}" for names, diagnosis in causes]
    more = len(sources) - MOST_REASONS
    return [*lines, f"\n  … and {more} more"] if more > 0 else lines


def left() -> str:
    """Return a sentence about the last exit since the latest tape opened, for an error about a target that is no tensor."""
    opened = journal.tapes[-1].number if journal.tapes else 0
    if not journal.exits or journal.exits[-1].number < opened:
        return ""
    line = journal.exits[-1].line
    return f" The last value to leave the library did so at {place(*text.where(line))}: `{text.text(line)}`."


def _named(sources: Iterable[Any], target: Any = None) -> list[tuple[str, Diagnosis]]:
    """Return the names of sources whose gradient is None, each with its Diagnosis."""
    found = []
    for source in sources:
        question = Question.of(target, [source], None)
        found.append((question.name_of(source), question.about(source)))
    return found


def _in_one_line(diagnosis: Diagnosis) -> str:
    return f"{diagnosis.where}{diagnosis.code}: {diagnosis.cause} {diagnosis.label.capitalize()}: {diagnosis.mend}"


def _error(diagnosis: Diagnosis) -> ValueError:
    """Create a ValueError whose traceback ends at the line of the break, if a frame of its file is known."""
    error = ValueError(f"The gradient is None. {diagnosis}")
    frame = next((f for f, _ in walk_stack(sys._getframe(1)) if f.f_code.co_filename == diagnosis.file), None)
    if frame is None or diagnosis.line is None:
        return error
    return error.with_traceback(TracebackType(None, frame, frame.f_lasti, diagnosis.line))


hooks.gradients.graphed, hooks.gradients.unapplied = graphed, unapplied
hooks.gradients.missing, hooks.gradients.reasons, hooks.gradients.left = missing, reasons, left
