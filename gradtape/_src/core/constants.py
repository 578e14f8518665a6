"""What Python and NumPy values become in a function or graph: TensorFlow makes a constant there, by NumPy's rules.

In eager code it has rules of its own (`convert`): there what comes first decides, here all values are looked at.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from gradtape._src.core import errors
from gradtape._src.core.tensor import Tensor, graph_of, unvalued


def default_type(array: np.ndarray) -> np.ndarray:
    """Python values that NumPy made an array of: float32 and int32 where they would be of 64 bits, int64 where it is needed."""
    if array.dtype == np.float64:
        with np.errstate(over="ignore"):
            return array.astype(np.float32)
    if array.dtype == np.int64:
        narrow = array.astype(np.int32)
        return narrow if np.array_equal(narrow, array) else array
    return array


def integer(value: int) -> np.dtype:
    """The dtype of a Python integer that int32 does not hold."""
    if not -(2**63) <= value < 2**64:
        raise no_tensor(value)
    return np.dtype(np.int64 if value < 2**63 else np.uint64)


def no_tensor(value: Any) -> TypeError:
    """The error for a value that cannot be a tensor."""
    return TypeError(f"Failed to convert elements of {str(value)[:80]} to Tensor. Consider casting elements to a supported type.")


def refuse_tensors(value: Any) -> None:
    """`tf.constant` of what is, or holds, a tensor of the function: TypeError. One from outside has a value."""
    if errors.tracing() and any(map(_of_function, value if isinstance(value, (list, tuple)) else [value])):
        raise TypeError(
            f"Expected any non-tensor type, but got a tensor instead: {str(value)[:80]}. A constant is made of numbers: use "
            "tf.convert_to_tensor, or tf.identity."
        )


def _of_function(value: Any) -> bool:
    return isinstance(value, Tensor) and (graph_of(value.node) is not None or unvalued(value.node))
