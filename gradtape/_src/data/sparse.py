"""SparseTensors as parts of elements, their rows and their batches."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from gradtape._src.core.base.errors import invalid
from gradtape._src.core.tensors.convert import constant
from gradtape._src.core.tensors.tensor import to_numpy
from gradtape._src.data.composite import Composite
from gradtape._src.ops.sparse.tensor import SparseTensor, SparseTensorSpec


class Sparse(Composite):
    """The three arrays of a SparseTensor."""

    __slots__ = ("dense_shape", "indices", "values")

    def __init__(self, indices: np.ndarray, values: np.ndarray, dense_shape: np.ndarray) -> None:
        self.indices, self.values, self.dense_shape = indices, values, dense_shape

    @classmethod
    def of(cls, value: Any) -> Sparse:
        """Convert a SparseTensor to its arrays."""
        return cls(*[to_numpy(part.node) for part in (value.indices, value.values, value.dense_shape)])

    def handed(self) -> Any:
        """Convert the arrays to the SparseTensor for the user."""
        return SparseTensor(constant(self.indices), constant(self.values), constant(self.dense_shape))

    def as_numpy(self) -> Any:
        """Convert the arrays to a dense array."""
        dense = np.zeros(self.dense_shape, self.values.dtype)
        if dense.dtype.hasobject:
            dense.fill(b"")
        dense[tuple(self.indices.T)] = self.values
        return dense

    @property
    def spec(self) -> Any:
        """The spec of this one."""
        return SparseTensorSpec(self.dense_shape.tolist(), self.values.dtype)

    def rows(self) -> Iterator[Sparse]:
        """Yield the rows of the first axis."""
        for row in range(int(self.dense_shape[0])):
            here = self.indices[:, 0] == row
            yield Sparse(self.indices[here, 1:], self.values[here], self.dense_shape[1:])

    def stacked(self, column: Sequence[Any]) -> Sparse:
        """Stack parts along a new first axis, in the shape of the largest. InvalidArgumentError if the ranks differ."""
        ranks = {len(part.dense_shape) for part in column}
        if len(ranks) != 1:
            raise invalid(f"Cannot batch SparseTensors of different ranks: {sorted(ranks)}.")
        counts = [len(part.values) for part in column]
        front = np.repeat(np.arange(len(column), dtype=np.int64), counts)[:, None]
        extents = np.max([part.dense_shape for part in column], axis=0) if len(column[0].dense_shape) else column[0].dense_shape
        return Sparse(
            np.concatenate([front, np.concatenate([part.indices for part in column])], 1),
            np.concatenate([part.values for part in column]),
            np.concatenate([[len(column)], extents]).astype(np.int64),
        )
