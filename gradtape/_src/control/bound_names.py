"""The values of names that an `if` or a loop binds: a tensor or what can be one, a string, None, or nothing yet."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any, TypeVar

import numpy as np
from malt.operators.variables import Undefined, UndefinedReturnValue

from gradtape._src.core import engine, nest
from gradtape._src.core.convert import is_tensor, tensor
from gradtape._src.core.tensor import Stored, Tensor

NUMBERS = (bool, int, float, complex, np.number, np.bool_, np.ndarray)
STRINGS = (str, bytes)
UNDEFINED = (Undefined, UndefinedReturnValue)
T = TypeVar("T")


class _Returns(threading.local):
    """Whether an `if` on a tensor may return in one branch only in the function under trace, and whether one did so."""

    partly, seen = True, False


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


def flatten(value: Any) -> tuple[list[Any], Any]:
    """Flatten a value, composite tensors too; return `(leaves, spec)`."""
    return nest.flatten_with_spec(value, nest.EXPANDED)


def symbolic(value: Any) -> bool:
    """Return whether a value is a tensor of the function under trace."""
    return isinstance(value, (Tensor, Stored)) and engine.local.trace.scope is not None


def can_be_tensor(value: Any) -> bool:
    """Return whether a value is a tensor, or a number or array that can become one."""
    return isinstance(value, (Tensor, Stored, *NUMBERS))


def can_be_result(value: Any) -> bool:
    """Return whether a branch can return `value` as a tensor; strings count, as another branch may return another one."""
    return can_be_tensor(value) or isinstance(value, STRINGS)


def tensor_dtype(value: Any) -> Any:
    """Return the dtype of a value that can be a tensor."""
    return value.dtype if is_tensor(value) else tensor(value).dtype


def empty(value: Any) -> bool:
    """Return whether a name is still unbound."""
    return value is None or isinstance(value, UNDEFINED)


def returned(name: str, before: Any) -> bool:
    """Return whether a name holds the function's return value."""
    return isinstance(before, UndefinedReturnValue) or "retval" in name


def check_not_none(name: str, main: Any, other: Any) -> None:
    """Raise ValueError for None where a branch is to give a tensor; a plain `return` may give nothing in both branches."""
    if (main is None or other is None) and not (main is other and returned(name, None)):
        where = "main" if main is None else "else"
        raise ValueError(
            f"'{name}' is None at the end of the {where} branch. An `if` on a tensor can choose between tensors only: give "
            f"'{name}' a tensor in both branches, or decide by a Python value."
        )
