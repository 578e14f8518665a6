"""The state of a thread: one object, whose fields are declared by the modules that they belong to.

A module lists its fields in a class, and sees the one object as that class:

    class _Fields:
        writer: SummaryWriter | None = field(None, per_replica=True)

    local = declare(_Fields)

`local.writer` is one look at the only `threading.local` of the library; `with setting(writer=w):` changes it for a while.
"""

from __future__ import annotations

import sys
import threading
from typing import Any, TypeVar, cast
from weakref import WeakKeyDictionary

T = TypeVar("T")
Taken = list[tuple["Field", Any]]
ABSENT = object()
ALONE = -1


class Ambient(threading.local):
    """The state of a thread. `declare` adds the fields to this class."""


class Field:
    """A field of the state of a thread. As a descriptor it makes each thread's first value, and stands behind what is set."""

    def __init__(self, default: Any, per_replica: bool, handed: bool = False, anew: bool = False) -> None:
        self.name, self.default = "", default
        self.per_replica, self.handed, self.anew = per_replica, handed, anew

    def __get__(self, state: Ambient, owner: type) -> Any:
        value = self.first()
        setattr(state, self.name, value)
        return value

    def first(self) -> Any:
        """Return what a thread begins with."""
        return self.default() if callable(self.default) else self.default

    def get(self) -> Any:
        """Return what this thread has."""
        return getattr(_state, self.name)

    def set(self, value: Any) -> None:
        """Let this thread have that."""
        setattr(_state, self.name, value)


class Foreign(Field):
    """A field that another package keeps for each thread: `name` of `kept` in `module`, which may not be loaded yet."""

    def __init__(self, module: str, kept: str, name: str) -> None:
        super().__init__(ABSENT, per_replica=True)
        self.name, self._module, self._kept = name, module, kept

    def _object(self) -> Any:
        return getattr(sys.modules.get(self._module), self._kept, None)

    def get(self) -> Any:
        """Return what this thread has; ABSENT if nothing."""
        return getattr(self._object(), self.name, ABSENT)

    def set(self, value: Any) -> None:
        """Let this thread have that, or nothing."""
        if value is not ABSENT:
            setattr(self._object(), self.name, value)
        elif hasattr(self._object(), self.name):
            delattr(self._object(), self.name)


_state = Ambient()
fields: list[Field] = []  # all that are declared


def field(default: Any, *, per_replica: bool, handed: bool = False, anew: bool = False) -> Any:
    """Return a field for `declare`. `default` is what each thread begins with, or a function that makes it.

    `per_replica`: each replica of a strategy has its own, which begins with a copy of what is open around it. In TensorFlow
    replicas are threads. It is False for what belongs to the thread in which all of them run, or is noted for code around
    them. `handed`: a thread that works for this one has what this one had. `anew`: a user's function begins with
    the default, which is traced or called while others are under way.
    """
    return Field(default, per_replica, handed, anew)


def declare(declared: type[T]) -> T:
    """Add the fields that a class lists to the state of a thread; return that state, seen as the class."""
    for name, found in vars(declared).items():
        if isinstance(found, Field):
            if name in vars(Ambient):
                raise TypeError(f"The state of a thread has a field {name!r} already: give this one another name.")
            found.name = name
            setattr(Ambient, name, found if callable(found.default) else found.default)
            fields.append(found)
    return cast("T", _state)


def declare_foreign(module: str, kept: str, names: str) -> None:
    """Declare what another package keeps for each thread, of which a replica has its own: attributes of `kept` in `module`."""
    fields.extend([Foreign(module, kept, name) for name in names.split()])


class setting:
    """Open a context in which fields of this thread's state have the values given, and afterwards those from before."""

    __slots__ = ("_before", "_values")

    def __init__(self, **values: Any) -> None:
        self._values = values

    def __enter__(self) -> None:
        self._before = {name: getattr(_state, name) for name in self._values}
        for name, value in self._values.items():
            setattr(_state, name, value)

    def __exit__(self, *_: object) -> None:
        for name, value in self._before.items():
            setattr(_state, name, value)


def handed() -> dict[str, Any]:
    """Return what this thread hands to one that works for it, for `setting` in that one."""
    return {field.name: field.get() for field in fields if field.handed}


def anew() -> setting:
    """Return the context of a user's function: what begins anew in it has its default."""
    return setting(**{field.name: field.first() for field in fields if field.anew})


def taken() -> Taken:
    """Return what code has open in this thread, of which a replica has its own."""
    return [(field, field.get()) for field in fields if field.per_replica]


def put(held: Taken) -> None:
    """Let this be open in the thread."""
    for field, value in held:
        field.set(value)


def forked(held: Taken) -> Taken:
    """Return what a replica begins with: lists and dicts of its own."""
    return [(field, value.copy() if isinstance(value, list | dict | WeakKeyDictionary) else value) for field, value in held]


class _Fields:
    """The number of the replica that a thread runs, where a strategy has several; None: it runs none.

    ALONE: variables of a strategy have no copies for its replicas here.
    """

    replica: int | None = field(None, per_replica=True)


local = declare(_Fields)
