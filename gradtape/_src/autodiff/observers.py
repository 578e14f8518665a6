"""What a floor above does when gradients were asked for: the explainer puts its functions here."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Protocol

from gradtape._src.core.journal import Asked


class Pictures(Protocol):
    """What draws a tape."""

    def summary(self, tape: Any) -> Any: ...
    def residuals(self, tape: Any) -> Any: ...
    def draw(self, tape: Any, fold: bool) -> Any: ...


class Observers:
    """`missing(call, sources, given, strict)` runs after a call of `gradient` that gave a None; `reasons(sources)` is a text
    for an error that says why they have no gradient, `left()` one that says where a value left the library;
    `asked(call, tape, targets, sources, results)` runs at each call, `ran(results)` at each call of a function with a tape in it
    in eager code. `pictures` shows a tape.
    """

    missing: Callable[[Asked, Sequence[Any], Sequence[bool], bool], None] | None = None
    reasons: Callable[[Sequence[Any]], str] | None = None
    left: Callable[[], str] | None = None
    pictures: Pictures
    asked: Callable[[Asked, Any, Sequence[Any], Sequence[Any], Sequence[Any]], Any] | None = None
    ran: Callable[[Any], None] | None = None


observers = Observers()


def reasons(sources: Sequence[Any]) -> str:
    """Why these sources have no gradient, a line for each; empty where nobody can say."""
    return "" if observers.reasons is None else observers.reasons(sources)


def left() -> str:
    """Where a value left the library last, as a sentence; empty where nobody can say."""
    return "" if observers.left is None else observers.left()
