"""`tf.CriticalSection`: code that one thread at a time executes."""

from __future__ import annotations

import contextlib
import itertools
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from gradtape._src.control.scope import Scope
from gradtape._src.core.base import locks
from gradtape._src.core.base.ambient import declare, field, setting
from gradtape._src.core.base.errors import UnimplementedError
from gradtape._src.core.base.public import public
from gradtape._src.core.engine import engine
from gradtape._src.core.tensors import nest
from gradtape._src.core.tensors.convert import tensor


class _Fields:
    """The locks that the thread holds; all replicas share them, since a second lock would deadlock."""

    locks: tuple[Lock, ...] = field((), per_replica=False)


_local = declare(_Fields)


class Lock:
    """The lock of a section. A thread takes it once, and takes several in the order of their numbers."""

    numbers = itertools.count()
    shared: dict[str, Lock] = {}

    def __init__(self) -> None:
        self.number, self._lock = next(Lock.numbers), locks.Lock()

    def entered(self) -> setting:
        """Open a context that notes the section as entered; ValueError if the thread is in it already."""
        if self in _local.locks:
            raise ValueError(
                "Attempting to lock a CriticalSection in which we are already running. This is illegal and may cause deadlocks. "
                "Call execute once, around all that belongs together."
            )
        return setting(locks=(*_local.locks, self))

    @contextlib.contextmanager
    def held(self) -> Iterator[None]:
        """Hold the lock."""
        with self.entered(), self._lock:
            yield


@contextlib.contextmanager
def holding(locks: Iterable[Lock]) -> Iterator[None]:
    """Hold the locks of several sections, always taken in the same order to avoid deadlocks."""
    with contextlib.ExitStack() as stack:
        for lock in sorted(locks, key=lambda lock: lock.number):
            stack.enter_context(lock.held())
        yield


def note(locks: Iterable[Lock]) -> None:
    """Have the functions under trace hold these locks in each call."""
    trace: Any = engine.local.trace
    while trace is not None:
        if isinstance(trace.scope, Scope):
            trace.scope.locks.update(dict.fromkeys(locks))
        trace = trace.parent


class CriticalSection:
    """A section that one thread at a time executes. Sections with the same `shared_name` are one.

    A function that executes a section holds its lock during the whole call.

    >>> section, v = tf.CriticalSection(), tf.Variable(1.0)
    >>> float(section.execute(lambda: v.assign(v * 2.0)))
    2.0
    """

    @public
    def __init__(
        self, name: str | None = None, shared_name: str | None = None, critical_section_def: Any = None, import_scope: Any = None
    ) -> None:
        if critical_section_def is not None:
            raise ValueError("Argument `critical_section_def` is not supported: leave it out.")
        self._name = name or "critical_section"
        self._lock = Lock() if shared_name is None else Lock.shared.setdefault(shared_name, Lock())

    @property
    def name(self) -> str:
        """The section's name."""
        return self._name

    @public
    def execute(self, fn: Callable[[], Any], exclusive_resource_access: bool = True, name: str | None = None) -> Any:
        """Call `fn()` while no other thread is in the section; return its results as tensors.

        ValueError if the thread is in the section already. `exclusive_resource_access` is accepted: sections may share variables,
        as a function takes the locks of all its sections in one order.
        """
        if not callable(fn):
            raise TypeError(f"{type(fn).__name__!r} object is not callable: give a function without arguments as `fn`.")
        if engine.graph_around() is not None:
            raise UnimplementedError.saying(
                "A CriticalSection is for eager code and functions, and this is a graph of TensorFlow 1. Hold a lock of Python's "
                "around session.run."
            )
        if engine.local.trace.scope is None:
            with self._lock.held():
                return _tensors(fn())
        note([self._lock])
        with self._lock.entered():
            return _tensors(fn())


def _tensors(results: Any) -> Any:
    return nest.map_structure(lambda x: None if x is None else tensor(x), results)
