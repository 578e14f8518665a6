"""Frames of tracebacks: which of them are the user's, and whether an error was raised deliberately."""

from __future__ import annotations

import dis
import os
import sys
import sysconfig
from collections.abc import Callable
from pathlib import Path
from types import CodeType, FrameType, TracebackType
from typing import Any, TypeVar

F = TypeVar("F", bound=Callable[..., Any])
PACKAGE = str(Path(__file__).parents[3]) + os.sep
OWN = (PACKAGE, os.path.join(os.path.dirname(PACKAGE.rstrip(os.sep)), "keras_gradtape", ""))
DEMO = os.path.join(PACKAGE, "_src", "demo", "")  # counts as user code
keeps_frames = bool(os.environ.get("GRADTAPE_FULL_TRACEBACK"))  # whether tracebacks keep the library's own frames


def keep_frames(kept: bool) -> None:
    """Set whether tracebacks keep the library's own frames."""
    global keeps_frames
    keeps_frames = kept


class _Internal(dict[str, bool]):
    """File name → whether its frames are internal: the library's, or those of a dependency."""

    def __missing__(self, filename: str) -> bool:
        inside = (filename.startswith(OWN) and not filename.startswith(DEMO)) or any(
            f"{os.sep}site-packages{os.sep}{name}{os.sep}" in filename for name in ("jax", "jaxlib", "optree", "malt", "keras")
        )
        self[filename] = inside
        return inside


internal = _Internal()


def line_outside() -> tuple[CodeType, int]:
    """Return the innermost running line outside of the library and its dependencies, as code and offset; else the outermost."""
    frame = sys._getframe(1)
    while internal[frame.f_code.co_filename] and frame.f_back is not None:
        frame = frame.f_back
    return frame.f_code, frame.f_lasti


class _Foreign(dict[str, bool]):
    """File name → whether it is Python's or an array library's: not the user's code if called by the library."""

    def __missing__(self, filename: str) -> bool:
        package = filename.rpartition(f"{os.sep}site-packages{os.sep}")[2]
        inside = (
            package.split(os.sep)[0] in ("numpy", "scipy", "ml_dtypes") if package != filename else filename.startswith(STANDARD)
        )
        self[filename] = inside
        return inside


STANDARD = (sysconfig.get_paths()["stdlib"] + os.sep, "<frozen ")
foreign = _Foreign()


_for_user: set[CodeType] = set()


def calls_for_user(function: F) -> F:
    """Mark a function that calls others in the place of the user's code, which was transformed to call it."""
    _for_user.add(function.__code__)
    return function


def called_by_user(frame: FrameType | None) -> bool:
    """Return whether the user's code called a function, given the frame of its caller."""
    while frame is not None and frame.f_code in _for_user:
        frame = frame.f_back
    return frame is None or not internal[frame.f_code.co_filename]


def cut(error: BaseException) -> None:
    """Remove the library's frames from a traceback; keep those of user code that the library called.

    Call it in an `except` block that ends in a bare `raise`, which adds no entry. So the traceback ends with a user's line.
    """
    if isinstance(error, OF_PYTHON):
        raised(error)
    if keeps_frames:
        return
    first = last = None
    inside = False
    entry = error.__traceback__
    while entry is not None:
        following = entry.tb_next
        filename = entry.tb_frame.f_code.co_filename
        inside = internal[filename] or (inside and foreign[filename])
        if not inside:
            if first is None:
                first = entry
            elif last is not None:
                last.tb_next = entry
            last = entry
        entry = following
    if last is not None:
        last.tb_next = None
    error.__traceback__ = first


# The classes of errors that Python itself raises for an unexpected value.
OF_PYTHON = (ArithmeticError, AssertionError, AttributeError, BufferError, LookupError, TypeError, ValueError)
RAISES = (dis.opmap["RAISE_VARARGS"], dis.opmap["RERAISE"])


def raised(error: Exception) -> bool:
    """Return whether a `raise` in the library or in user code made the error, and not Python, NumPy or JAX called by the library.

    The answer is stored on the error, since `cut` removes the frames on which it depends.
    """
    known = getattr(error, "_gradtape_raised", None)
    entry: TracebackType | None = error.__traceback__
    if known is not None or entry is None:
        return bool(known)
    inside = True
    while entry.tb_next is not None:
        entry = entry.tb_next
        filename = entry.tb_frame.f_code.co_filename
        inside = internal[filename] or (inside and foreign[filename])
        if not inside:
            return True
    code = entry.tb_frame.f_code
    deliberate = code.co_filename.startswith(OWN) and code.co_code[entry.tb_lasti] in RAISES
    error._gradtape_raised = deliberate  # type: ignore[attr-defined]
    return deliberate


def raised_inside(error: BaseException) -> bool:
    """Return whether the library, or NumPy or JAX called by it, raised an error, and not user code."""
    at = error.__traceback__
    while at is not None and at.tb_next is not None:
        at = at.tb_next
    return at is not None and internal[at.tb_frame.f_code.co_filename]


def of_user(error: Exception) -> bool:
    """Return whether a `raise` of user code made the error."""
    at = error.__traceback__
    assert at is not None
    while at.tb_next is not None:
        at = at.tb_next
    code = at.tb_frame.f_code
    return not internal[code.co_filename] and code.co_code[at.tb_lasti] == RAISES[0]
