"""Parts of elements that are more than one array: SparseTensors and RaggedTensors, as a pipeline carries them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np


class Composite:
    """The arrays of a tensor that is made of several."""

    __slots__ = ()

    @classmethod
    def of(cls, value: Any) -> Composite:
        """Return the arrays of a tensor."""
        raise NotImplementedError

    def handed(self) -> Any:
        """Return the tensor, as a user gets it."""
        raise NotImplementedError

    def as_numpy(self) -> Any:
        """Return what `as_numpy_iterator` gives."""
        raise NotImplementedError

    @property
    def spec(self) -> Any:
        """The spec of this one."""
        raise NotImplementedError

    def rows(self) -> Iterator[Any]:
        """Yield the rows of the first axis."""
        raise NotImplementedError

    def stacked(self, column: Sequence[Any]) -> Any:
        """Stack such parts, the first of which this is, along an axis in front."""
        raise NotImplementedError


def rows_of(arrays: Sequence[Any]) -> Iterator[tuple[Any, ...]]:
    """Yield the rows of arrays, some of which are Composite; ValueError if there are not as many of each."""
    columns = [list(array.rows()) if isinstance(array, Composite) else array for array in arrays]
    lengths = [len(column) for column, array in zip(columns, arrays, strict=True) if array is not None]
    if len(set(lengths)) != 1:
        raise ValueError(f"Dimensions {lengths} are not compatible: all components must have the same length.")
    for row in range(lengths[0]):
        yield tuple([None if array is None else _row(array, column[row]) for array, column in zip(arrays, columns, strict=True)])


def _row(array: Any, row: Any) -> Any:
    return row if isinstance(array, Composite) else np.asarray(row, array.dtype)
