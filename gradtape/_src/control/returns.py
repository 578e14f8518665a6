"""An `if` on a tensor that returns in one branch only, and whether the function under trace may have one."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from gradtape._src.core.base.ambient import declare, field, setting

T = TypeVar("T")


class _Fields:
    """Whether an `if` on a tensor may return in one branch only in the function under trace, and whether one did."""

    may_return_partly: bool = field(True, per_replica=True)
    returned_partly: bool = field(False, per_replica=False)


_local = declare(_Fields)


def with_returns(trace: Callable[[], T]) -> T:
    """Trace a function in which an `if` on a tensor may return in one branch only.

    That is valid if the code after the `if` returns a value, too. Else the function is traced again, and the `if` itself raises,
    so that a `try` around it sees the error, as in TensorFlow.
    """
    with setting(may_return_partly=True, returned_partly=False):
        try:
            return trace()
        except (ValueError, TypeError):
            if not _local.returned_partly:
                raise
        with setting(may_return_partly=False):
            return trace()


def check_returns(branch: str) -> None:
    """Check that an `if` on a tensor may lack a return value in this branch."""
    _local.returned_partly = True
    if not _local.may_return_partly:
        raise ValueError(
            f"the {branch} branch must also have a return statement: an `if` on a tensor returns in the other branch, and what "
            "follows gives no such value. Put a `return` at the end of the function, and return tensors in both."
        )
