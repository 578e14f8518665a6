"""Evidence: what is known of one break, a class for each code, with its sentences and its row of the documentation."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, ClassVar, NamedTuple, dataclass_transform

from gradtape._src.core.journal import Line
from gradtape._src.core.places import place
from gradtape._src.explain import source as text
from gradtape._src.explain.history import Step

if TYPE_CHECKING:
    from gradtape._src.explain.varied import Tried
    from gradtape._src.explain.words import Words

Span = tuple[int, int, int, int]


class Said(NamedTuple):
    """The cause and the fix of a break, in the user's own names.

    `place` is where the expression stands that the code in the fix replaces; None where that is no expression. `whole` says
    that the code is all that is to be done.
    """

    cause: str
    mend: str
    place: Span | None = None
    whole: bool = True


CODES: dict[str, type[Evidence]] = {}  # those with a row of their own


@dataclass_transform(frozen_default=True, kw_only_default=True, eq_default=False)
@dataclass(frozen=True, eq=False)
class Evidence:
    """The evidence of one break: the user's line, the op type, and the step.

    - `apart`: it is on another way from the source to the target than those before it.
    - `early`: it was before the tape opened.
    - `decides`: what comes of it is no value, but decides "branch", "index" or "size".

    A class that sets `when` is a code, with a row in the table of its `page` in the documentation: when it is the answer, and
    which line is `named`. Its fields have all else that its sentences say. A refinement gives other evidence of that class.
    """

    line: Line
    op: str | None = None
    step: Step | None = None
    apart: bool = field(default=False, kw_only=True)
    early: bool = field(default=False, kw_only=True)
    decides: str | None = field(default=None, kw_only=True)

    code: ClassVar[str]
    when: ClassVar[str]
    named: ClassVar[str] = ""
    page: ClassVar[str] = "none"

    def __init_subclass__(cls) -> None:
        dataclass(frozen=True, eq=False, kw_only=True)(cls)
        if "when" in vars(cls):
            CODES[cls.code] = cls

    @property
    def written(self) -> str:
        """The line, quoted, or the op where there is no source."""
        found = text.text(self.line)
        if found is not None:
            return f"`{found}`"
        return f"the op {self.op}" if self.op else "the line"

    def said(self, w: Words) -> Said:
        """Return the cause and the fix for one source."""
        raise NotImplementedError


class OfOp(Evidence):
    """A line breaks the connection by its meaning, wherever it runs."""


class OfZeros(Evidence):
    """A gradient that exists becomes zero."""

    page = "zeros"


Finder = Callable[["Tried"], Evidence | None]
_finders: list[tuple[int, Finder]] = []


def of_zeros(rank: int) -> Callable[[Finder], Finder]:
    """Return the decorator of a function that finds why an op passes zeros on. Those of a lower rank are asked before it."""

    def register(finder: Finder) -> Finder:
        _finders.append((rank, finder))
        _finders.sort(key=lambda ranked: ranked[0])
        return finder

    return register


def finders() -> list[Finder]:
    """Return the functions that find why an op passes zeros on, in the order in which they are asked."""
    return [finder for _, finder in _finders]


def cited(line: Line) -> str:
    """Return a line in quotes, and its place."""
    return f"`{text.text(line)}` ({place(text.file(line), text.number(line))})"
