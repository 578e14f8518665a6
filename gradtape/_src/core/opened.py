"""The contexts that are open in a thread, taken down and opened again: for code that runs in turns in one thread."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Iterator
from typing import Any, NamedTuple

from gradtape._src.core import creators, engine, naming, scopes
from gradtape._src.core.program import Trace

ALONE = -1


class Thread(threading.local):
    """The number of the replica that a thread runs, where a strategy has several; None: it runs none."""

    replica: int | None = None


thread = Thread()


@contextlib.contextmanager
def alone() -> Iterator[None]:
    """Open a context in which the variables of a strategy have no copies for its replicas."""
    before, thread.replica = thread.replica, ALONE
    try:
        yield
    finally:
        thread.replica = before


def enter_replica(number: int | None) -> None:
    """Note the number of the replica that the thread runs from here on."""
    thread.replica = number


class Opened(NamedTuple):
    """The tapes, creators of variables and names that are open; the tapes record `trace`."""

    trace: Trace
    tapes: list[Any]
    calls: list[Any]
    creators: list[Any]
    names: str

    @classmethod
    def now(cls) -> Opened:
        """Return those that are open now."""
        state = engine.local
        return cls(state.trace, list(state.tapes), list(naming.calls.stack), creators.opened(), scopes.prefix())

    def again(self) -> None:
        """Let these be the open ones. Tapes go on in what the thread records now."""
        state = engine.local
        state.tapes, naming.calls.stack = list(self.tapes), list(self.calls)
        for reference in self.tapes if state.trace is not self.trace else ():
            tape = reference()
            if tape is not None:
                tape.moved(self.trace, state.trace)
        creators.reopen(self.creators)
        scopes.enter_scope(self.names)
