"""Plain functions: Python code that does the same in each call, so that one trace represents all calls."""

from __future__ import annotations

import builtins
import dis
import functools
from types import BuiltinFunctionType, FunctionType, ModuleType
from typing import Any

import numpy as np

from gradtape._src.control.frozen import codes_of
from gradtape._src.control.function import Function
from gradtape._src.core.base.tracebacks import internal
from gradtape._src.core.tensors.tensor import EagerTensor
from gradtape._src.core.values.dtypes import DType
from gradtape._src.core.values.shape import TensorShape

_CALLED = (
    "abs all any bool bytes complex dict divmod enumerate filter float frozenset getattr hasattr int isinstance issubclass len "
    "list map max min pow range reversed round set slice sorted str sum tuple type zip"
)
BUILTINS = frozenset(_CALLED.split())  # builtins without effects whose results depend on their arguments only
VALUES = str, bytes, int, float, complex, type(None), np.generic, np.dtype, DType, TensorShape, type(...)
LIBRARY = "gradtape", "numpy", "math", "keras_gradtape"
ASKS = frozenset(("executing_eagerly", "inside_function"))
CHANGES = frozenset(("STORE_GLOBAL", "DELETE_GLOBAL", "STORE_ATTR", "DELETE_ATTR", "IMPORT_NAME", "LOAD_BUILD_CLASS"))
ITEMS = frozenset(("STORE_SUBSCR", "DELETE_SUBSCR"))
METHODS = (
    frozenset(set(dir(list)) | set(dir(dict)) | set(dir(set))) - set(dir(tuple)) - {"copy", "get", "items", "keys", "values"}
)
MOST = 1 << 12  # arrays up to this number of elements are compared by content


class NotPlain(Exception):
    """The error for a function whose calls may differ."""


def content(function: Any) -> Any:
    """Return a key of all values that a function uses besides its arguments; NotPlain if its calls may differ.

    Its code and that of the functions it calls is inspected. The library's own functions count as plain, as a trace shows
    their effects.
    """
    reader = _Reader()
    found = reader.key(function)
    if reader.changes and reader.changeable:
        raise NotPlain
    return found


class _Same:
    """A key that equals only itself, and keeps its object alive."""

    def __init__(self, value: Any) -> None:
        self.value = value

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Same) and self.value is other.value

    __hash__ = None  # type: ignore[assignment]


class _Reader:
    """One inspection of a function, and of all values that it holds."""

    def __init__(self) -> None:
        self._seen: dict[int, int] = {}
        # Whether code changes items, and whether there are changeable items outside of a call.
        self.changes = self.changeable = False

    def key(self, value: Any) -> Any:
        if isinstance(value, VALUES):
            return type(value), value
        if isinstance(value, (EagerTensor, Function)) or _of_the_library(value):
            return _Same(value)
        if id(value) in self._seen:
            return self._seen[id(value)]
        self._seen[id(value)] = len(self._seen)
        if isinstance(value, FunctionType):
            return self._function(value)
        if isinstance(value, functools.partial):
            return self.key(value.func), self.key(value.args), self.key(value.keywords)
        self.changeable = self.changeable or type(value) is not tuple
        if type(value) in (tuple, list):
            return type(value), [*map(self.key, value)]
        if type(value) is dict:
            return dict, [(self.key(name), self.key(held)) for name, held in value.items()]
        if type(value) is np.ndarray and value.size <= MOST and not value.dtype.hasobject:
            return value.shape, value.dtype, value.tobytes()
        raise NotPlain

    def _function(self, function: FunctionType) -> Any:
        code, cells = function.__code__, function.__closure__ or ()
        if internal[code.co_filename]:  # a wrapper of the library's, perhaps around a user's function
            held = [cell.cell_contents for cell in cells]
            return _Same(function), [self.key(f) for f in held if isinstance(f, FunctionType)]
        names = self._globals_of(function)
        used = [self.key(function.__globals__[name]) for name in sorted(names)]
        try:
            around = [self.key(cell.cell_contents) for cell in cells]
        except ValueError:  # an unbound name
            raise NotPlain from None
        return code, used, around, self.key(function.__defaults__), self.key(function.__kwdefaults__)

    def _globals_of(self, function: FunctionType) -> set[str]:
        """Return the global names that a function reads; NotPlain if it changes outer state, or inspects its callers."""
        names, attributes, outside = set(), set(), set(function.__code__.co_freevars)
        for code in codes_of(function.__code__):
            for step in dis.get_instructions(code):
                if step.opname in CHANGES or (step.opname in ("STORE_DEREF", "DELETE_DEREF") and step.argval in outside):
                    raise NotPlain
                self.changes = self.changes or step.opname in ITEMS
                if step.opname in ("LOAD_GLOBAL", "LOAD_NAME"):
                    names.add(step.argval)
                elif step.opname in ("LOAD_ATTR", "LOAD_METHOD"):
                    attributes.add(step.argval)
        self.changes = self.changes or not attributes.isdisjoint(METHODS)
        found = {name for name in names if _is_bound(name, function.__globals__)}
        draws = "random" in attributes and any(function.__globals__[name] is np for name in found)
        if draws or not attributes.isdisjoint(ASKS):
            raise NotPlain
        return found


def _is_bound(name: str, around: dict[str, Any]) -> bool:
    """Return whether a global name is bound in a module; NotPlain for a builtin that is not known to be plain."""
    try:
        around[name]  # a function with copied globals is looked up elsewhere
    except KeyError:
        kind = getattr(builtins, name, None)
        if name in BUILTINS or (isinstance(kind, type) and issubclass(kind, Exception)):
            return False
        raise NotPlain from None
    return True


def _of_the_library(value: Any) -> bool:
    """Return whether a module, class or C function belongs to this library, NumPy or Python's `math`."""
    if not isinstance(value, (ModuleType, type, BuiltinFunctionType, np.ufunc)):
        return False
    if isinstance(value, np.ufunc):
        return True
    of = value.__name__ if isinstance(value, ModuleType) else value.__module__ or ""
    return of.partition(".")[0] in LIBRARY and not of.startswith("numpy.random")
