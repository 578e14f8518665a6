"""The names and objects that the user's code can reach: the names of a value, and the objects that hold a variable."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from types import CodeType, FrameType, FunctionType, ModuleType
from typing import Any, NamedTuple

from gradtape._src.core.base.ambient import declare, field
from gradtape._src.core.base.tracebacks import internal
from gradtape._src.core.native import twins
from gradtape._src.core.programs import journal
from gradtape._src.core.tensors.convert import variable_of
from gradtape._src.core.tensors.tensor import Stored, Tensor
from gradtape._src.core.tensors.variable import Variable
from gradtape._src.explain import source as text

DEEPEST = 5  # attributes and entries in the path to an object that holds a variable
NAMED = 3  # attributes and entries in the path to a named value
MOST = 1000  # entries of one object that are examined
LOOKED = 200  # objects whose parts are examined
VALUES = (Tensor, Stored, Variable)
PLAIN = (type, FunctionType, CodeType, ModuleType, str, bytes, int, float, *VALUES)
LISTS = (list, tuple, dict)
Names = dict[str, Any]
Paths = dict[int, dict[int, str]]  # position of a scope → id of an object → its path in that scope


class Held(NamedTuple):
    """An object, its path in the user's code, and the numbers of the variables that it holds, in order."""

    path: str
    object: Any
    numbers: list[int]

    @property
    def name(self) -> str:
        """The name of a local, or of an attribute with its dot, ".head"; empty for an entry."""
        return "" if self.path.endswith("]") else "." * ("." in self.path) + self.path.rpartition(".")[2]


def scopes(frame: FrameType | None) -> Iterator[tuple[Names, Names]]:
    """Yield the names in the user's frames, as (local, global), up to a module; then those of modules with gradient calls.

    A gradient may have been asked for in another module than its explanation.
    """
    seen: Any = None
    while frame is not None:
        if not internal[frame.f_code.co_filename]:
            yield frame.f_locals, frame.f_globals
            seen = frame.f_globals
        frame = None if frame.f_code.co_name == "<module>" else frame.f_back
    asked = {text.file(call.line) for call in list(journal.calls)}
    for module in list(sys.modules.values()):
        if getattr(module, "__file__", None) in asked and vars(module) is not seen:
            yield vars(module), {}


def stands_for(held: Any, value: Any) -> bool:
    """Return whether `held` is `value` or wraps it, as Keras variables wrap gradtape's."""
    return held is value or variable_of(held) is value


def names_of(value: Any, frame: FrameType | None) -> set[str]:
    """Return all plain names of an object, without attributes and entries."""
    known = [part for names, more in scopes(frame) for part in (names, more)]
    return {name for part in known for name, held in list(part.items()) if stands_for(held, value)}


def name_of(value: Any, frame: FrameType | None, known: Paths | None = None) -> str | None:
    """Return the name of an object for the code in `frame`: a plain name, or a path such as `self.w` or `model.head.kernel`.

    None if no name leads to the object. `known` caches paths between calls.
    """
    known = {} if known is None else known
    for place, (names, more) in enumerate(scopes(frame)):
        for name, held in [*names.items(), *more.items()]:
            if stands_for(held, value) and not name.startswith("_"):
                return name
        if place not in known:
            known[place] = _paths(names)
        if id(value) in known[place]:
            return known[place][id(value)]
    return None


def places_of(value: Any, frame: FrameType) -> list[tuple[str, list[CodeType]]]:
    """Return the names of an object, each with the code that may set it: callers, functions with a `global`, or methods."""
    code = frame.f_code
    functions = [f.__code__ for f in list(frame.f_globals.values()) if isinstance(f, FunctionType)]
    others = [c for c in functions if c.co_filename == code.co_filename and c is not code]
    names = sorted(names_of(value, frame))
    callers = list(text.codes_of(frame))
    found = [(name, [*callers, *[c for c in others if text.is_global(c, name)]]) for name in names]
    root, dot, attribute = (name_of(value, frame) or "").partition(".")
    if dot:
        owner = frame.f_locals.get(root, frame.f_globals.get(root))
        methods = [f.__code__ for f in vars(type(owner)).values() if isinstance(f, FunctionType)]
        found += [(f"self.{attribute}", methods), (f"{root}.{attribute}", [code])]
    return found


def _paths(names: Names) -> dict[int, str]:
    """Return the shortest paths from these names to values, through entries and public attributes."""
    found: dict[int, str] = {}
    for lists in (True, False):  # `model.w` is the better name than `variables[0]`, and replaces it
        waiting = [(n, held, 1) for n, held in list(names.items()) if isinstance(held, LISTS) is lists and _leads_on(held)]
        seen: set[int] = set()
        part: dict[int, str] = {}
        for path, held, depth in waiting:
            for step, item in parts(held):
                part.setdefault(id(variable_of(item)), path + step)
                if depth < NAMED and id(item) not in seen and len(seen) < LOOKED and _leads_on(item):
                    seen.add(id(item))
                    waiting.append((path + step, item, depth + 1))
        found |= part
    return found


def _leads_on(item: Any) -> bool:
    """Return whether a path may lead through an object: a container, or an instance of a class outside of Python's own."""
    return isinstance(item, LISTS) or (hasattr(item, "__dict__") and not isinstance(item, PLAIN))


def parts(held: Any) -> Iterator[tuple[str, Any]]:
    """Yield the parts of an object, each with its step: "[0]", ".w". A Keras layer's `_kernel` becomes its property `kernel`."""
    if isinstance(held, dict):
        yield from ((f"[{key!r}]", item) for key, item in list(held.items())[:MOST])
        return
    if isinstance(held, (list, tuple)):
        yield from ((f"[{i}]", item) for i, item in enumerate(held[:MOST]))
        return
    attributes = getattr(held, "__dict__", None)  # autograph's stand-in for an unbound name returns itself
    for attribute, item in list(attributes.items())[:MOST] if isinstance(attributes, dict) else ():
        public = attribute.lstrip("_")
        is_property = isinstance(getattr(type(held), public, None), property)
        if attribute == "_layers" and type(held).__name__ == "Sequential":  # `_layers` also has the input layer
            yield from ((f".layers[{i}]", part) for i, part in enumerate(held.layers) if not _is_named(part))
        elif public == attribute or not isinstance(item, LISTS):
            yield f".{public if is_property else attribute}", item


def _is_named(layer: Any) -> bool:
    """Return whether the user named a Keras layer; the default name is that of its class: "dense_1"."""
    return bool(layer.name.replace("_", "").rstrip("0123456789") != type(layer).__name__.lower())


def objects(frame: FrameType | None, deepest: int, number: int | None = None) -> Iterator[Held]:
    """Yield the reachable objects that hold variables, or the variable `number`, in order of path length."""
    seen: set[int] = set()
    for names, _ in scopes(frame):
        waiting = [(name, value, 0) for name, value in list(names.items()) if not name.startswith("_")]
        for path, value, depth in waiting:
            if id(value) in seen or not holds(value) or len(seen) > LOOKED:
                continue
            numbers = numbers_in(value)
            if not numbers or (number is not None and number not in numbers):
                continue
            seen.add(id(value))
            yield Held(path, value, list(numbers))
            if depth < deepest:
                waiting += [(path + step, part, depth + 1) for step, part in _public(value)]


def holders(variable: Any, frame: FrameType | None, used: set[int]) -> set[str]:
    """Return the names of objects that hold a variable and none that is `used`: `head`, or `.head` for an attribute."""
    found = objects(frame, DEEPEST, variable._uid) if isinstance(variable, Variable) else ()
    return {held.name for held in found if held.name and not used.intersection(held.numbers)}


def in_an_object(variable: Any, frame: FrameType | None) -> bool:
    """Return whether a reachable object with attributes holds a variable; lists and plain names do not count."""
    found = objects(frame, DEEPEST, variable._uid) if isinstance(variable, Variable) else ()
    return any(not isinstance(held.object, LISTS) for held in found)


def holders_with(method: str, frame: FrameType | None) -> dict[int, tuple[str, Any]]:
    """Return the locals, and their attributes, that have a method and hold variables: (name, object) by the variable's number."""
    found: dict[int, tuple[str, Any]] = {}
    for held in objects(frame, 1):
        for number in held.numbers if hasattr(type(held.object), method) else ():
            found.setdefault(number, (held.path, held.object))
    return found


def holds(value: Any) -> bool:
    """Return whether an object may hold variables and is not one itself."""
    return not isinstance(value, (*PLAIN, *twins.kinds))


def _public(value: Any) -> list[tuple[str, Any]]:
    """Return the parts of an object whose names are public."""
    return [(step, part) for step, part in parts(value) if not step.startswith("._")]


class _Fields:
    """The numbers of variables in objects, cached during one question. Each object is kept alive, so that its id stays unique."""

    held_numbers: dict[int, tuple[Any, dict[int, None]]] | None = field(None, per_replica=True)


local = declare(_Fields)


def numbers_in(value: Any) -> dict[int, None]:
    """Return the numbers of the variables that an object holds, in the order of its attributes and entries."""
    known = local.held_numbers
    if known is None:
        return _numbers_in(value)
    if id(value) not in known:
        known[id(value)] = value, _numbers_in(value)
    return known[id(value)][1]


def _numbers_in(value: Any) -> dict[int, None]:
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
            own = [p for _, p in _public(part)]
            waiting += [(p, depth + 1) for p in [*inside, *own][::-1]]  # a module's list lacks those of Keras layers
    return numbers
