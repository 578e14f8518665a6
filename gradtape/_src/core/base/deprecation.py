"""The warning for deprecated names."""

from __future__ import annotations

import sys
import warnings
from types import FrameType

from gradtape._src.core.base.tracebacks import internal


def warn_deprecated(what: str, instead: str, gone: str | None = None) -> None:
    """Warn with a DeprecationWarning at the user's line that `what` is deprecated; `instead` is the advice.

    `gone` is the release that removes it; None for names that another library deprecates, and that stay.
    """
    until = f" and goes in gradtape {gone}" if gone else ""
    warnings.warn(f"{what} is deprecated{until}. {instead}", DeprecationWarning, stacklevel=_depth())


def _depth() -> int:
    """Return the `stacklevel`, seen from the caller, of the innermost frame outside of the library."""
    frame: FrameType | None = sys._getframe(2)
    depth = 2
    while frame is not None and frame.f_back is not None and internal[frame.f_code.co_filename]:
        frame, depth = frame.f_back, depth + 1
    return depth
