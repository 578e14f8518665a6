"""Validation of the arguments of datasets' methods: numbers and seeds."""

from __future__ import annotations

import os
from typing import Any

import numpy as np

from gradtape._src.core.base.errors import NeedsValues, invalid
from gradtape._src.core.engine import tracing
from gradtape._src.core.tensors.convert import static
from gradtape._src.core.tensors.tensor import Tensor, to_numpy
from gradtape._src.core.values import dtypes
from gradtape._src.core.values.dim import is_unknown, unknown
from gradtape._src.data.options import AUTOTUNE, INFINITE_CARDINALITY, UNKNOWN_CARDINALITY
from gradtape._src.data.place import Seeds
from gradtape._src.data.structure import Elements
from gradtape._src.ops.random.seeds import draw, pair_of


def count(value: Any, what: str) -> Any:
    """Return an integer, which may be a tensor of int64 (ValueError for another dtype); TypeError for anything else.

    While only the shapes of elements are inferred, it is a symbol if it depends on an element.
    """
    if isinstance(value, np.floating):
        value = int(value)  # as in TensorFlow, which refuses a Python float
    if isinstance(value, (str, bytes, float)):
        raise TypeError(f"{what} must be an integer, received {value!r}.")
    if isinstance(value, Tensor) and value.dtype != dtypes.int64:
        raise ValueError(
            f"{what}: Tensor conversion requested dtype int64 for Tensor with dtype {value.dtype.name}. Use tf.cast."
        )
    try:
        return static(value, what)
    except NeedsValues:
        if not tracing.is_asked_for_shapes():
            raise
        return unknown(counts=False)


def parallel(value: Any) -> int:
    """Convert `num_parallel_calls` to a number of threads."""
    if value is None or count(value, "num_parallel_calls") == AUTOTUNE:
        return 1
    return positive(value, "num_parallel_calls", "num_parallel_calls")


def positive(value: Any, what: str, spoken: str) -> int:
    """Return an integer like `count`; InvalidArgumentError, in which `spoken` names it, unless it is greater than 0."""
    number = count(value, what)
    if number < 1:
        raise invalid(f"{spoken} must be greater than zero, received {number}.")
    return number


def cycle(num_parallel_calls: Any) -> int:
    """Return the number of datasets that are interleaved by default."""
    processors = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    calls = processors if num_parallel_calls is None else count(num_parallel_calls, "num_parallel_calls")
    return (processors + 2) // 3 if calls == AUTOTUNE else min(calls, processors)


def unknown_of(elements: int) -> int:
    """Return the number of results that a function makes of a number of elements: infinite or unknown."""
    return INFINITE_CARDINALITY if elements == INFINITE_CARDINALITY else UNKNOWN_CARDINALITY


def batch_size(value: Any) -> int:
    """Return `batch_size` as an int."""
    return positive(value, "batch_size", "Batch size")


def batches(elements: int, size: int, drop: bool) -> int:
    """Return the number of batches of `elements` elements."""
    if elements < 0:
        return elements
    return elements // size if drop else -(-elements // size)


def weights(value: Any, count: int) -> np.ndarray:
    """Convert the weights of `count` datasets to floats (else TypeError); ValueError for a negative one, or a wrong count."""
    if value is None:
        return np.full(count, 1.0)
    array = np.asarray(numbers(value))
    if array.dtype not in (np.float32, np.float64):
        raise TypeError(f"Invalid `weights`. `weights` type must be either `tf.float32` or `tf.float64` but is {array.dtype}.")
    if array.shape != (count,):
        raise ValueError(
            "Invalid `weights`. `weights` should have the same length as `datasets` but got `len(weights)="
            f"{array.size}` vs. `len(datasets)={count}`."
        )
    if (array < 0).any():
        raise ValueError(f"Invalid `weights`. `weights` must be at least 0, received {array}.")
    return array


def numbers(value: Any) -> Any:
    """Convert probabilities, which may be a tensor, to a NumPy array."""
    return to_numpy(value.node) if isinstance(value, Tensor) else value


def check_unique(specs: tuple[Any, ...]) -> None:
    """Raise InvalidArgumentError or TypeError for elements that `unique` does not support."""
    if len(specs) != 1:
        raise invalid("UniqueDataset only supports inputs with a single component. Use map() to choose one.")
    dtype = getattr(specs[0], "dtype", None)
    if dtype not in (dtypes.int32, dtypes.int64, dtypes.string):
        raise TypeError(
            f"`tf.data.Dataset.unique` does not support type {dtype} -- only `tf.int32`, `tf.int64`, "
            "and `tf.string` are supported. Use tf.cast in map()."
        )


def check_rows(arrays: tuple[Any, ...]) -> None:
    """Raise ValueError if there is no tensor, or a dataset among the arrays."""
    if any(isinstance(array, Elements) for array in arrays):
        raise ValueError("A dataset has no rows that from_tensor_slices could take. Use from_tensors, or the dataset itself.")
    if all(array is None for array in arrays):
        raise ValueError("Invalid `element`. `element` should not be empty: give at least one tensor.")


def orders(seed: Any, again: bool) -> Seeds:
    """Return the Seeds, as `seeds` does, for orders that are TensorFlow's."""
    number = None if seed is None else count(seed, "seed")
    key, own = pair_of(0 if is_unknown(number) else number)  # it is unknown while only shapes are inferred
    return Seeds(f"{key} {own}{' again' * again}", again)


def seeds(seed: Any, again: bool) -> Seeds:
    """Return the source of the passes' seeds: a new one for each pass if `again`."""
    own = tuple(to_numpy(draw("ShuffleDatasetV3", None, 1).node)) if seed is None else count(seed, "seed")
    return Seeds(str(own), again)
