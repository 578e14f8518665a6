"""SparseTensors, RaggedTensors and TensorArrays as parts of elements: their arrays, their rows and their batches."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from gradtape._src.control.tensor_array import TensorArray, TensorArraySpec
from gradtape._src.core.base.errors import invalid
from gradtape._src.core.declarations.spec import TensorSpec
from gradtape._src.core.tensors.convert import constant
from gradtape._src.core.tensors.tensor import Tensor, extents_of, to_numpy
from gradtape._src.ops.array.ragged import RaggedTensorSpec, with_splits
from gradtape._src.ops.array.ragged_rows import splits_of
from gradtape._src.ops.sparse.tensor import SparseTensor, SparseTensorSpec


class Composite:
    """Base of parts of elements that consist of several arrays, or of none."""

    __slots__ = ()

    @property
    def spec(self) -> Any:
        """The spec of this one."""
        raise NotImplementedError

    def handed(self) -> Any:
        """Convert it to the user's form."""
        raise NotImplementedError

    def as_numpy(self) -> Any:
        """Convert it to one array; TypeError if it cannot be one."""
        raise TypeError(f"`tf.data.Dataset.as_numpy_iterator()` is not supported for elements with the spec {self.spec}.")

    def rows(self) -> Iterator[Any]:
        """Return the rows of the first axis; TypeError if it has no axes."""
        raise TypeError(f"Elements with the spec {self.spec} have no rows.")

    def stacked(self, column: Sequence[Any]) -> Any:
        """Stack parts along a new first axis; TypeError if these cannot be stacked."""
        raise TypeError(f"Elements with the spec {self.spec} cannot be batched.")


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


class Ragged(Composite):
    """The innermost values of a RaggedTensor, and the bounds of its rows along each ragged axis.

    Without a ragged axis it is one row: the user gets a Tensor, and `batch` makes it a row of a RaggedTensor again.
    """

    __slots__ = ("dtype", "nested", "values")

    def __init__(self, values: np.ndarray, nested: Sequence[np.ndarray], dtype: np.dtype) -> None:
        self.values, self.nested, self.dtype = values, list(nested), dtype

    @classmethod
    def of(cls, value: Any) -> Ragged:
        """Convert a RaggedTensor to its arrays."""
        nested = [to_numpy(splits.node) for splits in value.nested_row_splits]
        return cls(to_numpy(value.flat_values.node), nested, nested[0].dtype)

    @classmethod
    def of_dense(cls, array: np.ndarray, ragged_rank: int, dtype: np.dtype) -> Ragged:
        """Convert an array to rows whose next `ragged_rank` axes are ragged."""
        nested = [
            np.arange(int(np.prod(array.shape[:axis])) + 1, dtype=dtype) * array.shape[axis] for axis in range(1, ragged_rank + 1)
        ]
        return cls(array.reshape(-1, *array.shape[ragged_rank + 1 :]), nested, dtype)

    def handed(self) -> Any:
        """Convert the arrays to the RaggedTensor, or the Tensor, for the user."""
        return with_splits(constant(self.values), self.nested)

    def as_numpy(self) -> Any:
        """Convert the arrays to an array, or an array of rows."""
        return self.handed().numpy()

    @property
    def spec(self) -> Any:
        """The spec of this one."""
        extents = self.values.shape if not self.nested else (len(self.nested[0]) - 1, *[None] * len(self.nested))
        inner = self.values.shape[1:] if self.nested else ()
        return RaggedTensorSpec([*extents, *inner], self.values.dtype, len(self.nested), self.dtype)

    def rows(self) -> Iterator[Any]:
        """Yield the rows of the first axis."""
        if not self.nested:
            yield from (self.values[row, ...] for row in range(len(self.values)))
            return
        first, *deeper = self.nested
        for start, end in zip(first[:-1].tolist(), first[1:].tolist(), strict=True):
            nested = []
            for splits in deeper:
                nested.append(splits[start : end + 1] - splits[start])
                start, end = int(splits[start]), int(splits[end])
            yield Ragged(self.values[start:end], nested, self.dtype)

    def stacked(self, column: Sequence[Any]) -> Any:
        """Stack parts along a new first axis, which makes the first axis of the parts ragged."""
        if not self.values.ndim:
            return np.stack([part.values for part in column])
        if len({len(part.nested) for part in column}) != 1:
            raise invalid("Cannot batch RaggedTensors of different ragged ranks.")
        counts = [len(part.nested[0]) - 1 if part.nested else len(part.values) for part in column]
        inner = [np.concatenate([np.diff(part.nested[axis]) for part in column]) for axis in range(len(self.nested))]
        nested = [splits_of(lengths, self.dtype) for lengths in (counts, *inner)]
        shapes = [extents_of(part.values)[1:] for part in column]
        if len(set(shapes)) != 1:
            raise invalid(f"Cannot batch rows whose elements have different shapes: {shapes}.")
        return Ragged(np.concatenate([part.values for part in column]), nested, self.dtype)


class Entries(Composite):
    """The entries of a TensorArray, as the rows of one array."""

    __slots__ = ("array", "known")

    def __init__(self, array: np.ndarray, known: TensorArraySpec) -> None:
        self.array, self.known = array, known

    @classmethod
    def of(cls, value: TensorArray) -> Entries:
        """Convert a TensorArray to its entries."""
        return cls(to_numpy(value.stack().node), value._type_spec)

    @property
    def spec(self) -> Any:
        """The spec of the TensorArray."""
        return self.known

    def handed(self) -> Any:
        """Convert the entries to a new TensorArray."""
        return array_of(self.known, constant(self.array))


class Stated(Composite):
    """A part of which only the spec is known, while only shapes are inferred."""

    __slots__ = ("known",)

    def __init__(self, spec: Any) -> None:
        self.known = spec

    @property
    def spec(self) -> Any:
        """The spec that it will have."""
        return self.known


def array_of(spec: TensorArraySpec, entries: Tensor) -> TensorArray:
    """Return a TensorArray of a spec that holds the rows of `entries`; as in a function, a write changes a copy of it."""
    shape, dtype, dynamic, infer = spec._serialize()
    made = TensorArray(dtype, extents_of(entries)[0], dynamic, infer_shape=infer, element_shape=shape)
    return made.unstack(entries).is_copied()


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


def ragged_spec(spec: Any, row_splits_dtype: Any) -> Any:
    """Convert the spec of a Tensor with open extents to that of a RaggedTensor; other specs are unchanged."""
    shape = getattr(spec, "shape", None)
    if type(spec).__name__ != "TensorSpec" or shape is None or shape.rank is None or shape.is_fully_defined():
        return spec
    open_axes = [axis for axis, extent in enumerate(shape.as_list()) if extent is None]
    return RaggedTensorSpec(shape, spec.dtype, max(open_axes), row_splits_dtype)


def with_shape(spec: Any, shape: Any) -> Any:
    """Return a spec with another shape. If it is ragged, all added axes but the first are ragged, too; a scalar is none."""
    if not isinstance(spec, RaggedTensorSpec):
        return type(spec)(shape, spec.dtype)
    if shape.rank == 0:
        return TensorSpec(shape, spec.dtype)
    rank, before = shape.rank, spec.shape.rank
    added = 0 if rank is None or before is None else rank - before
    ragged_rank = spec.ragged_rank + added
    return RaggedTensorSpec(shape, spec.dtype, max(ragged_rank, 0), spec.row_splits_dtype)
