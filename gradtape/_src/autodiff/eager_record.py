"""The record of a function that runs as eager code, which `tf.gradients` differentiates in place of a tape."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from types import CodeType
from typing import Any

from gradtape._src.autodiff.backward import Entry
from gradtape._src.autodiff.recording import Recording
from gradtape._src.core.base.ambient import declare, field, setting
from gradtape._src.core.base.tracebacks import internal
from gradtape._src.core.engine import engine
from gradtape._src.core.engine.tracing import as_function
from gradtape._src.core.programs.program import Node
from gradtape._src.core.tensors.variable import Variable

ASKING = frozenset(("gradients", "hessians", "compute_gradients", "minimize"))


class _Fields:
    """The record of the outermost function running as eager code in this thread."""

    record: Recording | None = field(None, per_replica=True)


_local = declare(_Fields)


def asks_for_gradients(python: Any) -> bool:
    """Return whether a function, or one that it names, calls a function that differentiates without a tape.

    Only such a function is recorded, since a record keeps all values alive until the function returns.
    """
    waiting, seen = [python], set()
    while waiting:
        found = waiting.pop()
        found = getattr(found, "python_function", found)
        of = getattr(found, "__self__", None)
        found = getattr(found, "__func__", found)
        code = getattr(found, "__code__", None)
        if code is None or code in seen or internal[code.co_filename]:
            continue
        seen.add(code)
        names = _names(code)
        if names & ASKING:
            return True
        waiting += [found.__globals__[name] for name in names if name in found.__globals__]
        for cell in found.__closure__ or ():
            with contextlib.suppress(ValueError):  # the name is not bound yet
                waiting.append(cell.cell_contents)
        waiting += [getattr(of, name, None) for name in names if hasattr(type(of), name)]
    return False


def _names(code: CodeType) -> set[str]:
    """Return the names in the code of a function and its inner functions."""
    found = set(code.co_names)
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            found |= _names(constant)
    return found


@contextlib.contextmanager
def recorded(wanted: bool) -> Iterator[None]:
    """Open a context for a function that runs as eager code. It is recorded if `wanted`, unless a record is open already."""
    with as_function(), _record() if wanted and _local.record is None else contextlib.nullcontext():
        yield


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
    """Return whether `gradients` has something to differentiate: a graph, a function under trace, or a record of eager code."""
    return engine.local.trace.scope is not None or _local.record is not None


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
