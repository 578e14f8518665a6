"""`RaggedTensorValue`: the value of a ragged tensor that a session returns."""

from __future__ import annotations

from typing import Any

import numpy as np

from gradtape._src.core.base.public import public


class RaggedTensorValue:
    """Rows of different lengths as NumPy arrays: row i is `values[row_splits[i]:row_splits[i + 1]]`.

    `values` is an array, or a RaggedTensorValue where rows have ragged rows. TypeError if the parts are no NumPy arrays.

    >>> rows = tf.compat.v1.ragged.RaggedTensorValue(np.array([1, 2, 3]), np.array([0, 1, 3]))
    >>> rows.to_list(), rows.shape
    ([[1], [2, 3]], (2, None))
    """

    @public
    def __init__(self, values: Any, row_splits: Any) -> None:
        if not (isinstance(row_splits, np.ndarray) and row_splits.dtype in (np.int32, np.int64) and row_splits.ndim == 1):
            raise TypeError(f"row_splits must be a 1D int32 or int64 numpy array, received {row_splits!r}")
        if not isinstance(values, (np.ndarray, np.generic, RaggedTensorValue)):
            raise TypeError(f"values must be a numpy array or a RaggedTensorValue, received {values!r}")
        self.values, self.row_splits = values, row_splits

    @property
    def nested_row_splits(self) -> tuple[Any, ...]:
        """The bounds of the rows for each ragged axis, the outermost first."""
        inner = self.values.nested_row_splits if isinstance(self.values, RaggedTensorValue) else ()
        return (self.row_splits, *inner)

    @property
    def flat_values(self) -> Any:
        """The innermost values, an array."""
        return self.values.flat_values if isinstance(self.values, RaggedTensorValue) else self.values

    @property
    def dtype(self) -> Any:
        """The NumPy dtype of the values."""
        return self.flat_values.dtype

    @property
    def ragged_rank(self) -> int:
        """The number of ragged axes."""
        return len(self.nested_row_splits)

    @property
    def shape(self) -> tuple[int | None, ...]:
        """The shape, with None for ragged axes."""
        return (len(self.row_splits) - 1, None, *self.values.shape[1:])

    @public
    def to_list(self) -> list[Any]:
        """Return the rows as nested lists."""
        rows = self.values.to_list() if isinstance(self.values, RaggedTensorValue) else self.values.tolist()
        return [rows[start:end] for start, end in zip(self.row_splits[:-1], self.row_splits[1:], strict=True)]

    def __str__(self) -> str:
        return f"<tf.RaggedTensorValue {self.to_list()}>"

    def __repr__(self) -> str:
        return f"tf.RaggedTensorValue(values={self.values!r}, row_splits={self.row_splits!r})"


def of_parts(values: Any, *splits: Any) -> RaggedTensorValue:
    """Return the value with these flat values and bounds, those of the outermost axis first."""
    for bounds in reversed(splits):
        values = RaggedTensorValue(values, bounds)
    return values
