"""Locks that no Ctrl-C leaves locked.

From Python 3.14 on a KeyboardInterrupt can arrive in a `with lock:` when the lock is taken and the block is not yet entered.
The lock would stay taken, and the next `with` would wait for ever.
"""

import operator
import sys
import threading
from typing import Any


class _Whole:
    """A lock of `threading` whose `with` takes it and enters the block, or raises without it."""

    __slots__ = ("_leave", "acquire", "release")

    def __init__(self, lock: Any) -> None:
        self.acquire, self.release, self._leave = lock.acquire, lock.release, lock.__exit__

    def __enter__(self) -> None:
        taken: list[bool] = []
        try:
            taken.extend(map(self.acquire, (True,)))  # one call in C: the lock is taken and noted, or neither
        except BaseException:
            if taken:
                self.release()
            raise

    # A method in C, which `with` looks up before the lock is taken: one in Python can be interrupted before its first line.
    __exit__: Any = property(operator.attrgetter("_leave"))


def _whole_lock() -> _Whole:
    return _Whole(threading.Lock())


def _whole_rlock() -> _Whole:
    return _Whole(threading.RLock())


Lock: Any = threading.Lock if sys.version_info < (3, 14) else _whole_lock
RLock: Any = threading.RLock if sys.version_info < (3, 14) else _whole_rlock
