"""The record of a function that runs as eager code, which `tf.gradients` differentiates in place of a tape."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from typing import TypeVar

from gradtape._src.autodiff.backward import Entry
from gradtape._src.autodiff.recording import Recording
from gradtape._src.core.base.ambient import declare, field, setting
from gradtape._src.core.engine import engine, slices
from gradtape._src.core.engine.tracing import as_function
from gradtape._src.core.programs.program import Node
from gradtape._src.core.tensors.variable import Variable

T = TypeVar("T")


class Unrecorded(BaseException):
    """The signal of a function without a record that asks for a gradient: its call begins anew, with a record."""


class _Fields:
    """The record of the outermost function running as eager code in this thread."""

    record: Recording | None = field(None, per_replica=True)


_local = declare(_Fields)


class Recorder:
    """Runs a function as eager code. It is recorded from the call on that first asks for a gradient.

    Other functions are not recorded, since a record keeps all values alive until the function returns. The first call that asks
    begins anew: variables that it has assigned get their values back, but its prints and Python functions are repeated.
    """

    def __init__(self) -> None:
        self._asks = False

    def run(self, call: Callable[[], T]) -> T:
        """Return `call()`. It is recorded as part of a surrounding record, if there is one."""
        with as_function():
            if _local.record is not None:
                return call()
            if not self._asks:
                before = {id(variable): (variable, variable._tensor) for variable, _ in engine.local.trace.assigned}
                with setting(before=before):
                    try:
                        return call()
                    except Unrecorded:
                        slices.note(engine.local.trace.assigned)
                for variable, value in before.values():
                    variable._restore(value)
                self._asks = True
            with _record():
                return call()


@contextlib.contextmanager
def _record() -> Iterator[None]:
    record = Recording(persistent=True, watch_accessed_variables=False)
    with setting(record=record):
        record.open_quietly()
        try:
            yield
        finally:
            record._close()


def recording() -> bool:
    """Return whether `gradients` has something to differentiate: a graph, a function under trace, or a record of eager code.

    In a function that runs as eager code without a record, it raises the signal to begin anew.
    """
    if engine.local.trace.scope is not None or _local.record is not None:
        return True
    if slices.local.before is not None:
        raise Unrecorded
    return False


def entries() -> list[Entry]:
    """Return the recorded entries in order."""
    assert _local.record is not None
    return _local.record._entries()[0]


def reads(variable: Variable) -> list[Node]:
    """Return the nodes of all reads of a variable."""
    assert _local.record is not None
    found = [variable.held()]
    for segment in _local.record._segments:
        found += [node for _, read, node in segment.trace.reads[segment.first_read : segment.reads] if read is variable]
    return list(dict.fromkeys(found))
