"""A function that is called again later, when the names that it takes from around may hold something else."""

from __future__ import annotations

import contextlib
import threading
import weakref
from collections.abc import Callable, Iterator
from types import CellType, FunctionType
from typing import Any

EMPTY = object()


def _contents(cell: CellType) -> Any:
    """Return what a cell holds; EMPTY for a name that is unbound."""
    try:
        return cell.cell_contents
    except ValueError:
        return EMPTY


class Kept:
    """A function with cells of its own, which hold what those of `function` hold now while it is called.

    So have the functions in its cells. The object `unkept` is not kept alive: whoever calls has it.
    """

    def __init__(self, function: Callable[..., Any], unkept: Any = None) -> None:
        self._lock = threading.RLock()
        self._cells: dict[int, CellType] = {}
        self._copies: dict[int, tuple[FunctionType, FunctionType]] = {}
        self._held: list[tuple[CellType, Any]] = []
        self._reference: Callable[[], Any] = lambda: None
        if unkept is not None:
            with contextlib.suppress(TypeError):
                self._reference = weakref.ref(unkept)
        self._function = self._copied(function)
        self._cells, self._copies = {}, {}  # which have the originals

    def _copied(self, value: Any) -> Any:
        """Return a function with cells of its own, a reference to the object that is not kept, any other value as it is."""
        if value is self._reference():
            return value if value is None else self._reference
        if not isinstance(value, FunctionType) or value.__closure__ is None:
            return value
        if id(value) in self._copies:
            return self._copies[id(value)][1]
        new = [self._cells.get(id(cell)) for cell in value.__closure__]
        cells = tuple([self._cells.setdefault(id(cell), CellType()) for cell in value.__closure__])
        copy = FunctionType(value.__code__, value.__globals__, value.__name__, value.__defaults__, cells)
        copy.__kwdefaults__ = value.__kwdefaults__
        vars(copy).update(vars(value))
        self._copies[id(value)] = value, copy
        for cell, known, own in zip(value.__closure__, new, cells, strict=True):
            if known is None:
                self._held.append((own, self._copied(_contents(cell))))
        return copy

    @contextlib.contextmanager
    def called(self) -> Iterator[Callable[..., Any]]:
        """Open a context in which the function that it yields can be called, in one thread at a time."""
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
