"""Evidence about one break: a class for each code, with its sentences and its row of the documentation."""

from __future__ import annotations

import inspect
from bisect import insort
from collections.abc import Callable
from dataclasses import dataclass, field
from operator import itemgetter
from typing import TYPE_CHECKING, ClassVar, Generic, NamedTuple, ParamSpec, dataclass_transform

from gradtape._src.core.platform.places import place
from gradtape._src.core.programs.journal import Line
from gradtape._src.explain import source as text
from gradtape._src.explain.history import Name, Step

if TYPE_CHECKING:
    from gradtape._src.core.programs.op import Op
    from gradtape._src.explain.apart import Apart
    from gradtape._src.explain.breaks import View
    from gradtape._src.explain.varied import Tried
    from gradtape._src.explain.words import Words

Span = tuple[int, int, int, int]


class Said(NamedTuple):
    """The cause and the fix of a break, in the user's own names.

    `place` is the span of the expression that the code in the fix replaces, or None. `whole` says that the code is the complete
    fix. `others` are further codes to try, and `otherwise` is what to do where none of them is enough.
    """

    cause: str
    mend: str
    place: Span | None = None
    whole: bool = True
    others: tuple[str, ...] = ()
    otherwise: str = ""


CODES: dict[str, type[Evidence]] = {}  # codes that have their own row in the documentation


@dataclass_transform(frozen_default=True, kw_only_default=True, eq_default=False)
@dataclass(frozen=True, eq=False, repr=False)
class Evidence:
    """The evidence of one break: the user's line, the op type, and the step.

    - `apart`: the break is on another path than those before it.
    - `early`: the op ran before the tape opened.
    - `decides`: the result is not used as a value, but decides a "branch", an "index" or a "size".

    A class that sets `when` is a code, with a row in the table of its `page` in the documentation: the conditions for it, and the
    line that is `named`. Its fields hold the other facts for its sentences. A refinement gives other evidence of that class.
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
    meant: ClassVar[bool] = False  # the code is written to break the connection, as `stop_gradient` is
    harmless: ClassVar[bool] = False  # the target does not use the source, which is often intended: reported after faults

    def __init_subclass__(cls) -> None:
        if inspect.get_annotations(cls):  # creating a dataclass takes a while
            dataclass(frozen=True, eq=False, kw_only=True, repr=False)(cls)
        if "when" in vars(cls):
            CODES[cls.code] = cls

    @property
    def written(self) -> str:
        """The line in quotes, or the op if there is no source."""
        found = text.text(self.line)
        if found is not None:
            return f"`{found}`"
        return f"the op {self.op}" if self.op else "the line"

    def said(self, w: Words) -> Said:
        """Return the cause and the fix of the break, for one source."""
        raise NotImplementedError


class OfOp(Evidence):
    """A break that follows from the meaning of the line, wherever it runs."""


class OfZeros(Evidence):
    """A break at which an existing gradient becomes zero."""

    page = "zeros"


P = ParamSpec("P")
Finder = Callable[P, Evidence | None]


class Finders(Generic[P]):
    """Functions that each look for one code, ordered by rank."""

    def __init__(self) -> None:
        self._ranked: list[tuple[int, Finder[P]]] = []

    def __call__(self, rank: int) -> Callable[[Finder[P]], Finder[P]]:
        """Return the decorator that registers a function behind those of a lower rank."""

        def register(finder: Finder[P]) -> Finder[P]:
            insort(self._ranked, (rank, finder), key=itemgetter(0))
            return finder

        return register

    def first(self, *given: P.args, **more: P.kwargs) -> Evidence | None:
        """Return the first evidence that is found; None if no function finds any."""
        for _, finder in self._ranked:
            if (found := finder(*given, **more)) is not None:
                return found
        return None


of_steps: Finders[[View, Name, Step, Op | None]] = Finders()  # the effect of an op on one of its inputs
of_places: Finders[[View, Name, Step, Step]] = Finders()  # a step that the tape did not record, and the call around it
of_no_way: Finders[[Apart]] = Finders()  # a source without a path of ops to the target
of_zeros: Finders[[Tried]] = Finders()  # an op whose contribution is zero


def cited(line: Line) -> str:
    """Return a line in quotes, followed by its place."""
    return f"`{text.text(line)}` ({place(*text.where(line))})"
