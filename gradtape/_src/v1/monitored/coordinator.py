"""`Coordinator`: threads that stop together."""

from __future__ import annotations

import contextlib
import sys
import threading
import time
from collections.abc import Iterator
from typing import Any

from gradtape._src.core.base.errors import OutOfRangeError
from gradtape._src.core.base.public import public


class Coordinator:
    """Asks threads to stop, waits for them, and raises the error that stopped them, except `clean_stop_exception_types`."""

    @public
    def __init__(self, clean_stop_exception_types: Any = None) -> None:
        self._clean = (OutOfRangeError,) if clean_stop_exception_types is None else tuple(clean_stop_exception_types)
        self._stop = threading.Event()
        self._error: BaseException | None = None
        self._threads: set[threading.Thread] = set()
        self.joined = False

    @public
    def request_stop(self, ex: Any = None) -> None:
        """Ask all threads to stop; `ex` is the error that is the reason, an exception or the result of `sys.exc_info()`."""
        error = ex[1] if isinstance(ex, tuple) else ex
        if error is not None and not isinstance(error, self._clean):
            if self.joined:
                raise error
            if self._error is None:
                self._error = error
        self._stop.set()

    def should_stop(self) -> bool:
        """Return whether a stop was requested."""
        return self._stop.is_set()

    def clear_stop(self) -> None:
        """Clear the request to stop, and its reason."""
        self.joined, self._error = False, None
        self._stop.clear()

    def wait_for_stop(self, timeout: float | None = None) -> bool:
        """Wait until a stop is requested; return whether it was."""
        return self._stop.wait(timeout)

    @contextlib.contextmanager
    def stop_on_exception(self) -> Iterator[None]:
        """Open a context in which an error requests a stop."""
        try:
            yield
        except BaseException:
            self.request_stop(sys.exc_info())

    def register_thread(self, thread: threading.Thread) -> None:
        """Have `join` wait for a thread."""
        self._threads.add(thread)

    def raise_requested_exception(self) -> None:
        """Raise the error that is the reason to stop, if any."""
        if self._error is not None:
            raise self._error

    @public
    def join(self, threads: Any = None, stop_grace_period_secs: float = 120, ignore_live_threads: bool = False) -> None:
        """Wait for the threads to end, and raise the error that stopped them.

        RuntimeError if some run for more than `stop_grace_period_secs` after a stop was requested.
        """
        left = [*self._threads, *[thread for thread in threads or () if thread not in self._threads]]
        while any(thread.is_alive() for thread in left) and not self.wait_for_stop(0.05):
            pass
        until = time.monotonic() + stop_grace_period_secs
        for thread in left:
            thread.join(max(0.0, until - time.monotonic()))
        alive = [thread.name for thread in left if thread.is_alive()]
        self.joined = True
        self._threads.clear()
        self.raise_requested_exception()
        if alive and not ignore_live_threads:
            raise RuntimeError(f"Coordinator stopped with threads still running: {' '.join(alive)}")
