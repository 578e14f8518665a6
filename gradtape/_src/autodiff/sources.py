"""Errors for invalid sources and targets of a gradient, and the gradients of ragged sources."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from gradtape._src.core.base import hooks
from gradtape._src.core.tensors.convert import NUMBERS, is_composed
from gradtape._src.ops.array.ragged import RaggedTensor

_NUMBERS = (*NUMBERS, np.ndarray, np.generic)
VALUES = (*_NUMBERS, str, bytes)


def values_of(value: Any) -> Any:
    """Return the part of a value that has gradients: the flat values of a RaggedTensor, or the value itself."""
    return value.flat_values if isinstance(value, RaggedTensor) else value


def like(value: Any, values: Any) -> Any:
    """Return `values` as the flat values of a RaggedTensor like `value`, or unchanged."""
    return value.with_flat_values(values) if isinstance(value, RaggedTensor) and values is not None else values


def in_rows(sources: Sequence[Any], pack: Callable[[Sequence[Any]], Any], results: Sequence[Any]) -> Any:
    """Pack results into the structure of the sources, with ragged results for RaggedTensors."""
    return pack(list(map(like, sources, results)))


def no_tensor(role: str, value: Any) -> Exception:
    """Return the error for a target or source that cannot be on a tape: an AttributeError for numbers, as in TensorFlow."""
    if is_composed(value):
        return ValueError(
            f"Type {type(value).__name__} is not supported as a gradient source or gradient target: give the tensors that it "
            "is made of, such as `values`."
        )
    left = hooks.gradients.left() if role == "target" else ""
    return (AttributeError if isinstance(value, _NUMBERS) else TypeError)(
        f"The {role} {value!r} of type {type(value).__name__} is no tensor or variable, so nothing was recorded of it. "
        f"Give the tensor that it was computed from, or made into.{left}"
    )
