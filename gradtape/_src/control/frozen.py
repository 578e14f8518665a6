"""Copies of user functions with the closure, and the globals, that they have at present."""

from __future__ import annotations

import contextlib
import dis
import functools
import weakref
from collections.abc import Callable, Iterator
from types import CellType, CodeType, FunctionType
from typing import Any

from gradtape._src.core.base import locks

EMPTY = object()
_STORES = "STORE_GLOBAL", "DELETE_GLOBAL", "STORE_DEREF", "DELETE_DEREF"


class _Names(dict[str, Any]):
    """The frozen globals of a function. Names it does not read are looked up in the live globals."""

    live: dict[str, Any]
    cells: dict[int, tuple[CellType, CellType]]  # id(cell of the copy) → (that cell, the original cell)

    def __missing__(self, name: str) -> Any:
        return self.live[name]


def contents(cell: CellType) -> Any:
    """Return what a cell holds; EMPTY for a name that is unbound."""
    try:
        return cell.cell_contents
    except ValueError:
        return EMPTY


def _copy(function: FunctionType, cells: tuple[CellType, ...], names: dict[str, Any] | None = None) -> FunctionType:
    """Return a copy of a function with these cells, and with other globals if they are given."""
    globals_of = function.__globals__ if names is None else names
    copy = FunctionType(function.__code__, globals_of, function.__name__, function.__defaults__, cells)
    copy.__kwdefaults__, copy.__qualname__ = function.__kwdefaults__, function.__qualname__
    annotations = "__annotate__" if hasattr(function, "__annotate__") else "__annotations__"  # from Python 3.14 on they are lazy
    setattr(copy, annotations, getattr(function, annotations))
    vars(copy).update(vars(function))
    return copy


def _itself(value: Any) -> Any:
    return value


def frozen(function: Callable[..., Any], put: Callable[[Any], Any] = _itself) -> Callable[..., Any]:
    """Return a copy of a Python function with its present closure and globals; any other callable unchanged.

    TensorFlow traces the functions of a dataset when it is made. So `dataset.map(lambda x: x * i)` in a loop keeps the `i` of
    each trip. The functions of the same module that it calls are copied, too. A name that a function assigns stays shared with
    the code around it. `put` replaces the values that are no such functions.
    """
    if not isinstance(function, FunctionType):
        return function
    found: Callable[..., Any] = _copied(function, function.__globals__, {}, put)
    return found


def live(function: Any) -> Any:
    """Return a function with live closure and globals, also if `frozen` has copied it or its outer function.

    The body of a `py_function` is not traced; it reads the names at the time of each element.
    """
    if isinstance(function, functools.partial):
        return functools.partial(live(function.func), *function.args, **function.keywords)
    if not isinstance(function, FunctionType) or not isinstance(names := function.__globals__, _Names):
        return function
    return _copy(function, tuple([names.cells.get(id(cell), (cell, cell))[1] for cell in function.__closure__ or ()]), names.live)


def _copied(value: Any, live: Any, copies: dict[int, Any], put: Callable[[Any], Any]) -> Any:
    if not isinstance(value, FunctionType) or value.__globals__ is not live:
        return put(value)
    if id(value) in copies:
        return copies[id(value)]
    codes = list(codes_of(value.__code__))
    assigned = {i.argval for code in codes for i in dis.get_instructions(code) if i.opname in _STORES}
    around = dict(zip(value.__code__.co_freevars, value.__closure__ or (), strict=True))
    own = {name: CellType() for name, cell in around.items() if name not in assigned and contents(cell) is not EMPTY}
    names = _Names({name: held for name, held in live.items() if name.startswith("__")})
    names.live = live
    names.cells = {id(cell): (cell, around[name]) for name, cell in own.items()}
    copy = copies[id(value)] = _copy(value, tuple({**around, **own}.values()), names)
    for name, cell in own.items():
        cell.cell_contents = _copied(around[name].cell_contents, live, copies, put)
    if not any(name in live for name in assigned):
        read = {name for code in codes for name in code.co_names if name in live}
        names.update({name: _copied(live[name], live, copies, put) for name in read})
    return copy


def codes_of(code: CodeType) -> Iterator[CodeType]:
    """Yield the code objects of a function and of its inner functions."""
    yield code
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from codes_of(constant)


class Kept:
    """A copy of `function`, for calls at a later time, with cells of its own, which hold the present values while it is called.

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
            copies[value] = _copy(value, own)
            self._held += [(cells[id(cell)], self._copied(contents(cell), cells, copies)) for cell in new]
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
                    if contents(cell) is not EMPTY:
                        del cell.cell_contents
