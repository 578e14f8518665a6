"""The state of a thread: one object whose fields are declared by the modules that use them.

A module lists its fields in a class, and gets the one object typed as that class:

    class _Fields:
        writer: SummaryWriter | None = field(None, per_replica=True)

    local = declare(_Fields)

`local.writer` reads the only `threading.local` of the library; `with setting(writer=w):` sets the field in a context.
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
    """The state of a thread; `declare` adds fields to the class."""


class Field:
    """A field of the state of a thread. As a descriptor it creates the first value of each thread, which then shadows it."""

    def __init__(self, default: Any, per_replica: bool, handed: bool = False, anew: bool = False) -> None:
        self.name, self.default = "", default
        self.per_replica, self.handed, self.anew = per_replica, handed, anew

    def __get__(self, state: Ambient, owner: type) -> Any:
        value = self.first()
        setattr(state, self.name, value)
        return value

    def first(self) -> Any:
        """Return the first value of a thread."""
        return self.default() if callable(self.default) else self.default

    def get(self) -> Any:
        """Return this thread's value."""
        return getattr(_state, self.name)

    def set(self, value: Any) -> None:
        """Set this thread's value."""
        setattr(_state, self.name, value)


class Foreign(Field):
    """A field that another package keeps per thread: `name` of `kept` in `module`, which may not be imported yet."""

    def __init__(self, module: str, kept: str, name: str) -> None:
        super().__init__(ABSENT, per_replica=True)
        self.name, self._module, self._kept = name, module, kept

    def _object(self) -> Any:
        return getattr(sys.modules.get(self._module), self._kept, None)

    def get(self) -> Any:
        """Return this thread's value; ABSENT if there is none."""
        return getattr(self._object(), self.name, ABSENT)

    def set(self, value: Any) -> None:
        """Set this thread's value; ABSENT deletes it."""
        if value is not ABSENT:
            setattr(self._object(), self.name, value)
        elif hasattr(self._object(), self.name):
            delattr(self._object(), self.name)


_state = Ambient()
fields: list[Field] = []  # all declared fields


def field(default: Any, *, per_replica: bool, handed: bool = False, anew: bool = False) -> Any:
    """Return a field for `declare`. `default` is the first value in each thread, or a function that creates it.

    `per_replica`: each replica of a strategy has its own value, initially a copy of the surrounding one, as in TensorFlow, where
    replicas are threads. False for state of the thread that runs all replicas, and for notes to the surrounding code. `handed`: a
    thread that works for this one gets this value. `anew`: a user's function starts with the default.
    """
    return Field(default, per_replica, handed, anew)


def declare(declared: type[T]) -> T:
    """Add the fields that a class lists to the state of a thread; return the state, typed as that class."""
    for name, found in vars(declared).items():
        if isinstance(found, Field):
            if name in vars(Ambient):
                raise TypeError(f"The state of a thread has a field {name!r} already: give this one another name.")
            found.name = name
            setattr(Ambient, name, found if callable(found.default) else found.default)
            fields.append(found)
    return cast("T", _state)


def declare_foreign(module: str, kept: str, names: str) -> None:
    """Declare thread-local attributes of another package's object `kept` in `module`; each replica gets its own."""
    fields.extend([Foreign(module, kept, name) for name in names.split()])


class setting:
    """Open a context that sets fields of this thread's state, and restores them at the end."""

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
    """Return the fields for a thread that works for this one, as keywords for `setting`."""
    return {field.name: field.get() for field in fields if field.handed}


def anew() -> setting:
    """Return the context for a user's function, in which fields declared `anew` have their defaults."""
    return setting(**{field.name: field.first() for field in fields if field.anew})


def taken() -> Taken:
    """Return this thread's values of the fields that each replica has."""
    return [(field, field.get()) for field in fields if field.per_replica]


def put(held: Taken) -> None:
    """Set fields of this thread."""
    for field, value in held:
        field.set(value)


def forked(held: Taken) -> Taken:
    """Return the initial values of a replica, with copies of lists and dicts."""
    return [(field, value.copy() if isinstance(value, list | dict | WeakKeyDictionary) else value) for field, value in held]


class _Fields:
    """The number of the replica that the thread runs, in a strategy with several; else None.

    ALONE: the strategy's variables have no copies for replicas in this context.
    """

    replica: int | None = field(None, per_replica=True)


local = declare(_Fields)
