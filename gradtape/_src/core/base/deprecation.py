"""The one warning for what is deprecated."""

from __future__ import annotations

import sys
import warnings
from types import FrameType

from gradtape._src.core.base.tracebacks import internal


def warn_deprecated(what: str, instead: str, gone: str | None = None) -> None:
    """Warn with a DeprecationWarning at the user's line that `what` is deprecated; `instead` says what to write.

    `gone` is the release in which it goes; names that another library deprecates, and that stay, have none.
    """
    until = f" and goes in gradtape {gone}" if gone else ""
    warnings.warn(f"{what} is deprecated{until}. {instead}", DeprecationWarning, stacklevel=_depth())


def _depth() -> int:
    """Return the `stacklevel` of the innermost frame that is not the library's, seen from the caller."""
    frame: FrameType | None = sys._getframe(2)
    depth = 2
    while frame is not None and frame.f_back is not None and internal[frame.f_code.co_filename]:
        frame, depth = frame.f_back, depth + 1
    return depth
