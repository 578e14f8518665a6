"""The base class for element parts that consist of several arrays: SparseTensors and RaggedTensors."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np


class Composite:
    """The arrays of a composite tensor."""

    __slots__ = ()

    @classmethod
    def of(cls, value: Any) -> Composite:
        """Convert a tensor to its arrays."""
        raise NotImplementedError

    def handed(self) -> Any:
        """Convert the arrays to the tensor for the user."""
        raise NotImplementedError

    def as_numpy(self) -> Any:
        """Convert the arrays to the value that `as_numpy_iterator` yields."""
        raise NotImplementedError

    @property
    def spec(self) -> Any:
        """The spec of the tensor."""
        raise NotImplementedError

    def rows(self) -> Iterator[Any]:
        """Yield the rows of the first axis."""
        raise NotImplementedError

    def stacked(self, column: Sequence[Any]) -> Any:
        """Stack parts, of which this is the first, along a new first axis."""
        raise NotImplementedError


def rows_of(arrays: Sequence[Any]) -> Iterator[tuple[Any, ...]]:
    """Yield the rows of arrays, some of which are Composite; ValueError if their numbers of rows differ."""
    columns = [list(array.rows()) if isinstance(array, Composite) else array for array in arrays]
    lengths = [len(column) for column, array in zip(columns, arrays, strict=True) if array is not None]
    if len(set(lengths)) != 1:
        raise ValueError(f"Dimensions {lengths} are not compatible: all components must have the same length.")
    for row in range(lengths[0]):
        yield tuple([None if array is None else _row(array, column[row]) for array, column in zip(arrays, columns, strict=True)])


def _row(array: Any, row: Any) -> Any:
    return row if isinstance(array, Composite) else np.asarray(row, array.dtype)
