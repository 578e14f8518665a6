"""The names of a graph's ops: the `name=` of public functions, or their defaults."""

from __future__ import annotations

import inspect
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from gradtape._src.core.base import locks
from gradtape._src.core.base.ambient import declare, field
from gradtape._src.core.base.hooks import graphs

_SOURCE = str(Path(__file__).parents[2])
OPERATORS = {os.path.join(_SOURCE, "core", "declarations", "define.py"), os.path.join(_SOURCE, "ops", "operators.py")}
open_graphs = 0  # the number of graphs under construction, in all threads; with 0, names cost nothing
_counting = locks.Lock()


def count_graphs(more: int) -> None:
    """Add to the number of graphs under construction."""
    global open_graphs
    with _counting:
        open_graphs += more


class NamedCall:
    """A call of a public function while a graph is built: the name of its result, and the result."""

    __slots__ = ("function", "name", "operator", "result", "scope", "through")
    through: bool  # whether the graph keeps the calls inside of it, not the call itself

    def __init__(self, name: str | None, function: str, operator: bool) -> None:
        self.name, self.function, self.operator, self.result, self.scope = name, function, operator, None, ""
        self.through = False


class _Fields:
    """The active calls of public functions in this thread. A user's function starts its own list."""

    calls: list[NamedCall] = field(list, per_replica=True, anew=True)


local = declare(_Fields)


_positions: dict[Any, tuple[int, Any] | None] = {}


def named(function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any], name: str | None = None) -> Any:
    """Call `function(*args, **kwargs)`; its ops in a graph get `name`, or else the name among the arguments."""
    stack = local.calls
    outermost = not stack or stack[-1].through
    name = name or _name(function, args, kwargs, outermost=not stack)
    operator = not stack and sys._getframe(2).f_code.co_filename in OPERATORS
    call = NamedCall(name, function.__name__, operator)
    stack.append(call)
    try:
        result = NotImplemented
        if outermost:
            call.through = graphs.passes(function)
            result = NotImplemented if call.through else graphs.put_off(function, args, kwargs)
        if result is NotImplemented:
            result = function(*args, **kwargs)
    except NotImplementedError as error:  # that is `engine.NeedsValues`
        if not outermost:
            raise
        result = graphs.waits(function, args, kwargs, error)
    finally:
        stack.pop()
    call.result = result
    return result


def _name(function: Any, args: tuple[Any, ...], kwargs: dict[str, Any], outermost: bool) -> str | None:
    """Return the name of a call: the given one; for the user's direct calls, else the default in the signature."""
    found = parameter(function)
    if found is None:
        return None
    position, default = found
    name = kwargs.get("name")
    if name is None and len(args) > position:
        name = args[position]
    if name is None and outermost:
        name = default
    return name if isinstance(name, str) and name else None


def parameter(function: Callable[..., Any]) -> tuple[int, Any] | None:
    """Return the position of the parameter `name` of a function, and its default; None for a constructor or context."""
    if function not in _positions:
        _positions[function] = _parameter(function)
    return _positions[function]


def _parameter(function: Callable[..., Any]) -> tuple[int, Any] | None:
    if function.__name__ in ("__init__", "name_scope", "named"):
        return None
    parameters = inspect.signature(function).parameters
    if "name" not in parameters:
        return None
    default = parameters["name"].default
    return list(parameters).index("name"), default if isinstance(default, str) else None


class Numbered:
    """Makes names unique by numbers, ignoring case: `mul`, `mul_1`, `Mul_2`."""

    def __init__(self) -> None:
        self._seen: dict[str, int] = {}

    def __call__(self, name: str) -> str:
        base = name.lower()
        count = self._seen.get(base, 0)
        if not count:
            self._seen[base] = 1
            return name
        while f"{base}_{count}" in self._seen:
            count += 1
        self._seen[base], self._seen[f"{base}_{count}"] = count + 1, 1
        return f"{name}_{count}"
