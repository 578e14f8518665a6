"""An `if` on a tensor that returns in one branch only: whether the function under trace may have one."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from gradtape._src.core.per_thread import PerThread

T = TypeVar("T")


class _Returns(PerThread, replica="partly seen"):
    """Whether an `if` on a tensor may return in one branch only in the function under trace, and whether one did so."""

    partly = True
    seen = False


_returns = _Returns()


def with_returns(trace: Callable[[], T]) -> T:
    """Trace a function, in which an `if` on a tensor may return in one branch, if what follows gives the other one's result.

    Where that fails, it is traced again, and the `if` itself raises, inside of a `try` around it, as in TensorFlow.
    """
    before = _returns.partly, _returns.seen
    _returns.partly, _returns.seen = True, False
    try:
        try:
            return trace()
        except (ValueError, TypeError):
            if not _returns.seen:
                raise
        _returns.partly = False
        return trace()
    finally:
        _returns.partly, _returns.seen = before


def check_returns(branch: str) -> None:
    """Check that an `if` on a tensor may leave the return value without one in this branch."""
    _returns.seen = True
    if not _returns.partly:
        raise ValueError(
            f"the {branch} branch must also have a return statement: an `if` on a tensor returns in the other branch, and what "
            "follows gives no such value. Put a `return` at the end of the function, and return tensors in both."
        )
