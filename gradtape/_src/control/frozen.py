"""Copies of user functions with the closure and globals at the time when a dataset is made, as TensorFlow traces them then."""

from __future__ import annotations

import dis
import functools
from collections.abc import Callable, Iterator
from types import CellType, CodeType, FunctionType
from typing import Any

_STORES = "STORE_GLOBAL", "DELETE_GLOBAL", "STORE_DEREF", "DELETE_DEREF"


class _Names(dict[str, Any]):
    """The frozen globals of a function. Names it does not read are looked up in the live globals."""

    live: dict[str, Any]
    cells: dict[int, tuple[CellType, CellType]]  # id(cell of the copy) → (that cell, the original cell)

    def __missing__(self, name: str) -> Any:
        return self.live[name]


def _itself(value: Any) -> Any:
    return value


def frozen(function: Callable[..., Any], put: Callable[[Any], Any] = _itself) -> Callable[..., Any]:
    """Return a copy of a Python function with its present closure and globals; any other callable unchanged.

    So `dataset.map(lambda x: x * i)` in a loop keeps the `i` of each trip. The functions of the same module that it calls are
    copied, too. A name that a function assigns stays shared with the code around it. `put` replaces the values that are no such
    functions.
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
    cells = tuple([names.cells.get(id(cell), (cell, cell))[1] for cell in function.__closure__ or ()])
    copy = FunctionType(function.__code__, names.live, function.__name__, function.__defaults__, cells)
    copy.__kwdefaults__, copy.__qualname__ = function.__kwdefaults__, function.__qualname__
    return copy


def _copied(value: Any, live: Any, copies: dict[int, Any], put: Callable[[Any], Any]) -> Any:
    if not isinstance(value, FunctionType) or value.__globals__ is not live:
        return put(value)
    if id(value) in copies:
        return copies[id(value)]
    codes = list(codes_of(value.__code__))
    assigned = {i.argval for code in codes for i in dis.get_instructions(code) if i.opname in _STORES}
    around = dict(zip(value.__code__.co_freevars, value.__closure__ or (), strict=True))
    own = {name: CellType() for name, cell in around.items() if name not in assigned and _is_bound(cell)}
    names = _Names({name: held for name, held in live.items() if name.startswith("__")})
    names.live = live
    names.cells = {id(cell): (cell, around[name]) for name, cell in own.items()}
    cells = tuple({**around, **own}.values())
    copy = copies[id(value)] = FunctionType(value.__code__, names, value.__name__, value.__defaults__, cells)
    copy.__kwdefaults__, copy.__qualname__ = value.__kwdefaults__, value.__qualname__
    annotations = "__annotate__" if hasattr(value, "__annotate__") else "__annotations__"  # from Python 3.14 on they are lazy
    setattr(copy, annotations, getattr(value, annotations))
    vars(copy).update(vars(value))
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


def _is_bound(cell: CellType) -> bool:
    try:
        cell.cell_contents  # noqa: B018  (which raises for a name that is not bound yet)
    except ValueError:
        return False
    return True
