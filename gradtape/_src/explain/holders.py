"""The user's objects that hold a variable: a layer in an attribute, a list of experts."""

from __future__ import annotations

from types import FrameType, FunctionType, ModuleType
from typing import Any

from gradtape._src.core.convert import variable_of
from gradtape._src.core.native import twins
from gradtape._src.core.tensor import Stored, Tensor
from gradtape._src.core.variable import Variable

DEEPEST = 5  # so many attributes and entries are followed
MOST = 1000  # entries of one object


def holders(variable: Any, frame: FrameType | None, used: set[int]) -> set[str]:
    """Return the names of objects that hold a variable and no `used` one: `head`, and `.head` in a model."""
    found: set[str] = set()
    while frame is not None and isinstance(variable, Variable):
        _look(list(frame.f_locals.items()), variable, used, found)
        if frame.f_code.co_name == "<module>":
            break
        frame = frame.f_back
    return found


def in_an_object(variable: Any, frame: FrameType | None) -> bool:
    """Return whether an object with attributes that code can reach holds a variable, and not only a list or a name."""
    return any(name.startswith(".") or _is_object(name, frame) for name in holders(variable, frame, set()))


def holders_with(method: str, frame: FrameType | None) -> dict[int, tuple[str, Any]]:
    """Return the name and object, a local or an attribute of one, that has a method and holds a variable, by its number."""
    found: dict[int, tuple[str, Any]] = {}
    while frame is not None:
        for name, value in list(frame.f_locals.items()):
            inside = [(f"{name}.{attribute}", part) for attribute, part in parts_of(value)] if holds(value) else []
            for called, part in [(name, value), *inside]:
                for number in numbers_in(part) if hasattr(type(part), method) else ():
                    found.setdefault(number, (called, part))
        frame = None if frame.f_code.co_name == "<module>" else frame.f_back
    return found


def _is_object(name: str, frame: FrameType | None) -> bool:
    """Return whether a name stands for an object that is no list, tuple or dict."""
    while frame is not None:
        if name in frame.f_locals:
            return not isinstance(frame.f_locals[name], (list, tuple, dict))
        frame = frame.f_back
    return False


def _look(names: list[tuple[str, Any]], variable: Variable, used: set[int], found: set[str]) -> None:
    waiting = [(name, value, 0) for name, value in names]
    seen: set[int] = set()
    while waiting:
        name, value, depth = waiting.pop()
        if id(value) in seen or depth > DEEPEST or not holds(value):
            continue
        seen.add(id(value))
        numbers = numbers_in(value)
        if variable._uid not in numbers:
            continue
        if name and not numbers.keys() & used:
            found.add(name)
        waiting += [(f".{attribute}" if attribute else "", part, depth + 1) for attribute, part in parts_of(value)]


def holds(value: Any) -> bool:
    """Return whether an object may hold variables, and is none itself."""
    return not isinstance(value, (type, FunctionType, *twins.kinds, ModuleType, Tensor, Stored, str, bytes, int, float))


def parts_of(value: Any) -> list[tuple[str, Any]]:
    """Return the values that an object holds, by attribute; entries have no name."""
    if isinstance(value, dict):
        return [("", part) for part in list(value.values())[:MOST]]
    if isinstance(value, (list, tuple)):
        return [("", part) for part in value[:MOST]]
    attributes = getattr(value, "__dict__", None)
    named = list(attributes.items())[:MOST] if isinstance(attributes, dict) else []
    return [(name, part) for name, part in named if not name.startswith("_")]


def numbers_in(value: Any) -> dict[int, None]:
    """Return the numbers of the variables that an object holds, in the order of its attributes and entries."""
    numbers: dict[int, None] = {}
    waiting, seen = [(value, 0)], set[int]()
    while waiting:
        part, depth = waiting.pop()
        if isinstance(part := variable_of(part), Variable):
            numbers[part._uid] = None
        elif id(part) not in seen and depth <= DEEPEST and holds(part) and len(seen) < MOST:
            seen.add(id(part))
            listed = getattr(part, "variables", None) if hasattr(type(part), "variables") else None
            inside = listed if isinstance(listed, (list, tuple)) else ()
            waiting += [
                (p, depth + 1) for p in [*inside, *[p for _, p in parts_of(part)]][::-1]
            ]  # a module lists no Keras layers'
    return numbers
