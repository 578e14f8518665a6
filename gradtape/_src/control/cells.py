"""A copy of a function that keeps the present values of its closure, for calls at a later time."""

from __future__ import annotations

import contextlib
import weakref
from collections.abc import Callable, Iterator
from types import CellType, FunctionType
from typing import Any

from gradtape._src.core.base import locks

EMPTY = object()


def _contents(cell: CellType) -> Any:
    """Return what a cell holds; EMPTY for a name that is unbound."""
    try:
        return cell.cell_contents
    except ValueError:
        return EMPTY


class Kept:
    """A copy of `function` with cells of its own, which hold the present values while the copy is called.

    Functions in its cells are copied in the same way. The object `unkept` is held by a weak reference; the caller keeps it alive.
    """

    def __init__(self, function: Callable[..., Any], unkept: Any = None) -> None:
        self._lock = locks.RLock()
        self._held: list[tuple[CellType, Any]] = []
        self._reference: Callable[[], Any] = lambda: None
        if unkept is not None:
            with contextlib.suppress(TypeError):
                self._reference = weakref.ref(unkept)
        self._function = self._copied(function, {}, {})

    def _copied(self, value: Any, cells: dict[int, CellType], copies: dict[Any, Any]) -> Any:
        """Return a copy of a function, the weak reference in place of the object `unkept`, and any other value unchanged.

        `cells` (by identity) and `copies` have the copies made so far; the functions in `copies` keep their cells alive.
        """
        if value is not None and value is self._reference():
            return self._reference
        if not isinstance(value, FunctionType) or value.__closure__ is None:
            return value
        if value not in copies:
            new = [cell for cell in value.__closure__ if id(cell) not in cells]
            cells.update({id(cell): CellType() for cell in new})
            own = tuple([cells[id(cell)] for cell in value.__closure__])
            copy = FunctionType(value.__code__, value.__globals__, value.__name__, value.__defaults__, own)
            copy.__kwdefaults__ = value.__kwdefaults__
            vars(copy).update(vars(value))
            copies[value] = copy
            self._held += [(cells[id(cell)], self._copied(_contents(cell), cells, copies)) for cell in new]
        return copies[value]

    @contextlib.contextmanager
    def called(self) -> Iterator[Callable[..., Any]]:
        """Open a context in which the function can be called, by one thread at a time."""
        with self._lock:
            for cell, value in self._held:
                if value is not EMPTY:
                    cell.cell_contents = value() if value is self._reference else value
            try:
                yield self._function
            finally:
                for cell, _ in self._held:
                    if _contents(cell) is not EMPTY:
                        del cell.cell_contents
