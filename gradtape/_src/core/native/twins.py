"""The choice between a Python function of the hot path and its twin in C, in `recording.c`; see README.md.

The Python functions are the definition. Without the extension they are used themselves.
"""

from __future__ import annotations

import contextlib
import functools
import importlib
import inspect
import logging
import os
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, TypeVar, cast

F = TypeVar("F", bound=Callable[..., Any])

logger = logging.getLogger("gradtape")
SOURCE = Path(__file__).with_name("recording.c")


def checksum() -> str:
    """Return the checksum of `recording.c`, which identifies the extension built from it."""
    return f"{zlib.crc32(SOURCE.read_bytes()):08x}"


def _load() -> tuple[Any, str]:
    """Return the extension, or None and the reason why there is none."""
    if os.environ.get("GRADTAPE_PURE", "") not in ("", "0"):
        return None, "GRADTAPE_PURE is set"
    try:
        recording = importlib.import_module("gradtape._src.core.native.recording")
    except ModuleNotFoundError:
        return None, "it was not built"
    except ImportError as error:
        return None, _refused(str(error))
    if SOURCE.exists() and recording.source != checksum():
        return None, _refused("it was built of another version of recording.c; build it again: pip install -e .")
    return recording, ""


def _refused(why: str) -> str:
    logger.warning("gradtape records in Python, as its C extension cannot be used: %s", why)
    return why


_extension, reason = _load()
kinds: tuple[type, ...] = () if _extension is None else (_extension.Twin,)  # the class of functions in C


def of(function: F, kind: str, op: Any = None, attrs: Any = None, rank: int | None = None) -> F:
    """Return the C twin of a Python function, or the function itself. `op` is the op that it records, with attributes `attrs`."""
    if _extension is None:
        return function
    twin: Any = functools.update_wrapper(_extension.Twin(kind, function, op, attrs, rank), function)
    twin.__signature__ = inspect.signature(function)  # `getfullargspec` does not look at the wrapped function
    return cast("F", twin)


def in_c(function: F) -> F:
    """Decorate a function that has a twin of the same name in `recording.c`."""
    return of(function, function.__name__)


def namespace(python: Callable[[Any, Any, Any], Any], compiled: Any, host: Any, state: Any) -> Any:
    """Return an object with the names of `host` while `state.on_host`, else those of `compiled`; `python` is its definition."""
    return (python if _extension is None else _extension.Namespace)(compiled, host, state)


def bind(**engine: Any) -> None:
    """Pass classes, whose slots it looks up, and objects of the engine to the extension, and start using it."""
    global reason
    if _extension is not None:
        try:
            _extension.bind(**engine)
        except ImportError as error:
            reason = _refused(str(error))


def which() -> str:
    """Return what records ops: "C", or "Python" with the reason."""
    return f"Python ({reason})" if reason else "C"


@contextlib.contextmanager
def off() -> Iterator[None]:
    """Use the Python functions instead of their twins, in all threads; for tests."""
    before = _extension is not None and _extension.enable(False)
    try:
        yield
    finally:
        if before:
            _extension.enable(True)
