"""Variables passed as arguments of a function: those with the same type share one trace, as in TensorFlow."""

from __future__ import annotations

import functools
from collections.abc import Iterator, Sequence
from types import BuiltinFunctionType, CodeType, FunctionType, MethodType, ModuleType
from typing import Any, NoReturn

import numpy as np

from gradtape._src.control.frozen import codes_of, contents
from gradtape._src.core.base.tracebacks import internal
from gradtape._src.core.native import twins
from gradtape._src.core.tensors.tensor import Stored, Tensor
from gradtape._src.core.tensors.variable import Variable

LIMIT = 20_000  # the maximum number of objects to visit
_VALUES: tuple[type, ...] = (
    str,
    bytes,
    int,
    float,
    complex,
    type(None),
    type,
    np.ndarray,
    np.generic,
    Tensor,
    ModuleType,
    CodeType,
    BuiltinFunctionType,
    *twins.kinds,
)


class Passed:
    """Stands in a traced function for variable `number` among its arguments."""

    def __init__(self, number: int) -> None:
        self.number = number

    def read(self) -> NoReturn:
        """Raise ValueError, as only a call has the variable."""
        raise ValueError(
            "The function takes a tf.Variable as an argument, so that there is no value without a call. Let the function use the "
            "variable from outside, or take a tensor."
        )


def reachable_besides_arguments(function: Any, variables: Sequence[Variable]) -> bool:
    """Return whether a function can reach any of these variables other than by its arguments.

    The search visits its closure, the globals its code names, its object, and their attributes. It gives up with True beyond
    LIMIT objects.
    """
    wanted = {id(variable) for variable in variables}
    waiting, seen = [function], set[int]()
    while waiting:
        found = waiting.pop()
        if isinstance(found, _VALUES) or id(found) in seen:
            continue
        if isinstance(found, Stored):
            if id(found.variable) in wanted:
                return True
            continue
        seen.add(id(found))
        if len(seen) > LIMIT:
            return True
        waiting += _held(found)
    return False


def _held(found: Any) -> list[Any]:
    """Return the objects that an object refers to: items of a collection, names of a function, else its attributes."""
    if isinstance(found, dict):
        return list(found.values())
    if isinstance(found, (list, tuple, set, frozenset)):
        return list(found)
    if isinstance(found, FunctionType):
        return [] if internal[found.__code__.co_filename] else list(_named(found))
    if isinstance(found, MethodType):
        return [found.__func__, found.__self__]
    if isinstance(found, functools.partial):
        return [found.func, found.args, found.keywords]
    return list(vars(found).values()) if hasattr(found, "__dict__") else []


def _named(function: FunctionType) -> Iterator[Any]:
    yield from map(contents, function.__closure__ or ())
    yield from function.__defaults__ or ()
    yield from (function.__kwdefaults__ or {}).values()
    for code in codes_of(function.__code__):
        yield from [function.__globals__[name] for name in code.co_names if name in function.__globals__]
