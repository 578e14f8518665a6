"""The states of a thread. Each says what of it a replica has for itself, as replicas run in turns in one thread."""

from __future__ import annotations

import contextlib
import sys
import threading
import weakref
from collections.abc import Iterator
from typing import Any, Self

ABSENT = object()
ALONE = -1
Taken = list[tuple[Any, dict[str, Any]]]  # states, with what each of them had


class Exchanged:
    """Base of a state whose attributes, `of_replica`, each replica has for itself."""

    of_replica: tuple[str, ...]

    def taken(self) -> dict[str, Any]:
        """Return what a replica has for itself."""
        return {name: getattr(self, name) for name in self.of_replica}

    def put(self, taken: dict[str, Any]) -> None:
        """Let that be what the thread has."""
        for name, value in taken.items():
            setattr(self, name, value)


class PerThread(Exchanged, threading.local):
    """Base of the states of a thread; there is no other `threading.local` in the library.

    `replica=` has the names of the attributes that each replica of a strategy has for itself: what code may have open where it
    calls `merge_call`. It is "" for a state that cannot be open there.
    """

    def __init_subclass__(cls, *, replica: str) -> None:
        cls.of_replica = tuple(replica.split())

    def __new__(cls, *args: Any) -> Self:
        made = super().__new__(cls, *args)  # with which each thread calls `__init__`
        if cls.of_replica:
            _exchanged.add(made)
        return made


class OfOthers(Exchanged):
    """The state of a thread that another package keeps, as attributes of `name` in `module`. It may not be loaded yet."""

    def __init__(self, module: str, name: str, replica: str) -> None:
        self._module, self._name, self.of_replica = module, name, tuple(replica.split())
        _others.append(self)

    def _kept(self) -> Any:
        return getattr(sys.modules.get(self._module), self._name, None)

    def taken(self) -> dict[str, Any]:
        """Return what a replica has for itself."""
        kept = self._kept()
        return {name: getattr(kept, name, ABSENT) for name in self.of_replica}

    def put(self, taken: dict[str, Any]) -> None:
        """Let that be what the thread has."""
        kept = self._kept()
        for name, value in taken.items():
            if value is not ABSENT:
                setattr(kept, name, value)
            elif hasattr(kept, name):
                delattr(kept, name)


_exchanged: weakref.WeakSet[PerThread] = weakref.WeakSet()
_others: list[OfOthers] = []


def taken() -> Taken:
    """Return what code has open in this thread, of which a replica has its own."""
    return [(state, state.taken()) for state in (*_exchanged, *_others)]


def put(held: Taken) -> None:
    """Let this be open in the thread."""
    for state, fields in held:
        state.put(fields)


def forked(held: Taken) -> Taken:
    """Return what a replica begins with: its own lists and dicts of what is open around it."""
    return [
        (state, {name: value.copy() if isinstance(value, list | dict) else value for name, value in fields.items()})
        for state, fields in held
    ]


class Replica(PerThread, replica="number"):
    """The number of the replica that a thread runs, where a strategy has several; None: it runs none."""

    number: int | None = None


replica = Replica()


@contextlib.contextmanager
def alone() -> Iterator[None]:
    """Open a context in which the variables of a strategy have no copies for its replicas."""
    before, replica.number = replica.number, ALONE
    try:
        yield
    finally:
        replica.number = before


def enter_replica(number: int | None) -> None:
    """Note the number of the replica that the thread runs from here on."""
    replica.number = number
