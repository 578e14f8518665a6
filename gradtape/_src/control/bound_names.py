"""The values of names that an `if` or a loop binds: a tensor or what can be one, a string, None, or nothing yet."""

from __future__ import annotations

from typing import Any

import numpy as np
from malt.operators.variables import Undefined, UndefinedReturnValue

from gradtape._src.core import engine, nest
from gradtape._src.core.convert import is_tensor, tensor
from gradtape._src.core.tensor import Stored, Tensor

NUMBERS = (bool, int, float, complex, np.number, np.bool_, np.ndarray)
STRINGS = (str, bytes)
UNDEFINED = (Undefined, UndefinedReturnValue)


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
