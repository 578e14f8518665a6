"""Locks that a Ctrl-C cannot leave locked.

From Python 3.14 on, a KeyboardInterrupt can arrive in `with lock:` after the lock is acquired and before the block is entered.
The lock would never be released, and the next `with` would wait for ever.
"""

import operator
import sys
import threading
from typing import Any


class _Whole:
    """A lock of `threading`. Its `with` either acquires it and enters the block, or raises without holding it."""

    __slots__ = ("_leave", "acquire", "release")

    def __init__(self, lock: Any) -> None:
        self.acquire, self.release, self._leave = lock.acquire, lock.release, lock.__exit__

    def __enter__(self) -> None:
        taken: list[bool] = []
        try:
            taken.extend(map(self.acquire, (True,)))  # one call in C: the lock is acquired and noted, or neither
        except BaseException:
            if taken:
                self.release()
            raise

    # `with` looks this up before it acquires the lock. A C method, since a Python one can be interrupted before its first line.
    __exit__: Any = property(operator.attrgetter("_leave"))


def _whole_lock() -> _Whole:
    return _Whole(threading.Lock())


def _whole_rlock() -> _Whole:
    return _Whole(threading.RLock())


Lock: Any = threading.Lock if sys.version_info < (3, 14) else _whole_lock
RLock: Any = threading.RLock if sys.version_info < (3, 14) else _whole_rlock
