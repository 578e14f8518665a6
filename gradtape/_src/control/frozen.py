"""A user's function that reads the names around it as they were when a dataset was made: TensorFlow traces it at that time."""

from __future__ import annotations

import dis
import functools
from collections.abc import Callable, Iterator
from types import CellType, CodeType, FunctionType
from typing import Any

_STORES = "STORE_GLOBAL", "DELETE_GLOBAL", "STORE_DEREF", "DELETE_DEREF"


class _Names(dict[str, Any]):
    """The global names that a function reads, as they were. Any other name is looked up where it is now."""

    live: dict[str, Any]
    cells: dict[int, tuple[CellType, CellType]]  # by the identity of a cell of the copy: it, and the cell that it was copied from

    def __missing__(self, name: str) -> Any:
        return self.live[name]


def frozen(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return a copy of a Python function whose closure and globals stay what they are now; any other callable as it is.

    A loop that makes a dataset in each trip, `dataset.map(lambda x: x * i)`, is to have another number in each. So have the
    functions of the same module that it calls. A name that a function assigns stays shared with the code around it.
    """
    found: Callable[..., Any] = _copied(function, getattr(function, "__globals__", None), {})
    return found


def live(function: Any) -> Any:
    """Return a function that reads the names around it where they are now, though a copy by `frozen` made it or is it.

    The body of a `py_function` is not traced: it runs for each element, with the names of that time.
    """
    if isinstance(function, functools.partial):
        return functools.partial(live(function.func), *function.args, **function.keywords)
    if not isinstance(function, FunctionType) or not isinstance(names := function.__globals__, _Names):
        return function
    cells = tuple([names.cells.get(id(cell), (cell, cell))[1] for cell in function.__closure__ or ()])
    copy = FunctionType(function.__code__, names.live, function.__name__, function.__defaults__, cells)
    copy.__kwdefaults__, copy.__qualname__ = function.__kwdefaults__, function.__qualname__
    return copy


def _copied(value: Any, live: Any, copies: dict[int, Any]) -> Any:
    if not isinstance(value, FunctionType) or value.__globals__ is not live:
        return value
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
    copy.__kwdefaults__, copy.__qualname__, copy.__annotations__ = value.__kwdefaults__, value.__qualname__, value.__annotations__
    vars(copy).update(vars(value))
    for name, cell in own.items():
        cell.cell_contents = _copied(around[name].cell_contents, live, copies)
    if not any(name in live for name in assigned):
        read = {name for code in codes for name in code.co_names if name in live}
        names.update({name: _copied(live[name], live, copies) for name in read})
    return copy


def codes_of(code: CodeType) -> Iterator[CodeType]:
    """Yield the code of a function and of those inside of it."""
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
