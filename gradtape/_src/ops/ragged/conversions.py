"""Conversion between RaggedTensors, tensors and SparseTensors."""

import math

import numpy as np

from gradtape._src.core.base.errors import invalid
from gradtape._src.core.base.hooks import attach
from gradtape._src.core.base.public import public
from gradtape._src.core.tensors.convert import tensor as as_tensor
from gradtape._src.core.tensors.tensor import extents_of, to_numpy
from gradtape._src.core.values import dtypes
from gradtape._src.ops.array.gather import gather
from gradtape._src.ops.array.points import gather_nd
from gradtape._src.ops.array.ragged import RaggedTensor, merged_axes, with_splits
from gradtape._src.ops.array.ragged_rows import columns, integers, rowids, splits_of
from gradtape._src.ops.sparse.tensor import SparseTensor


def _from_tensor(cls, tensor, lengths=None, padding=None, ragged_rank=1, name=None, row_splits_dtype=dtypes.int64):
    """Convert a Tensor to rows: whole, with the given `lengths`, or without the `padding` at their ends.

    `lengths` may be a tuple, for several ragged axes; otherwise `ragged_rank` is the number of ragged axes.

    >>> tf.RaggedTensor.from_tensor([[1, 2, 0], [3, 0, 0]], padding=0)
    <tf.RaggedTensor [[1, 2], [3]]>
    """
    x, dtype = as_tensor(tensor), dtypes.as_dtype(row_splits_dtype).numpy
    if lengths is not None and padding is not None:
        raise ValueError("Specify argument `lengths` or `padding`, but not both.")
    if lengths is not None and (isinstance(lengths, tuple) or (isinstance(lengths, list) and lengths and np.ndim(lengths[0]))):
        nested = [splits_of(integers(of_axis), dtype) for of_axis in lengths]
        ragged_rank = len(nested)
        return with_splits(gather_nd(x, _coordinates(nested)), nested)
    if not isinstance(ragged_rank, int) or not 0 < ragged_rank < x.ndim:
        raise ValueError(f"Argument `ragged_rank` must be between 1 and {x.ndim - 1}, received {ragged_rank}.")
    if lengths is None and padding is None:
        extents = extents_of(x)
        rows = merged_axes(x, 0, ragged_rank)
        for axis in reversed(range(1, ragged_rank + 1)):
            rows = RaggedTensor.from_uniform_row_length(rows, extents[axis], math.prod(extents[:axis]))
        return rows.with_row_splits_dtype(row_splits_dtype)
    if ragged_rank > 1:  # the padding is at the end of rows of the last ragged axis
        inner = _from_tensor(cls, merged_axes(x, 0, ragged_rank - 1), lengths, padding, 1, None, row_splits_dtype)
        outer = _from_tensor(cls, x, None, None, ragged_rank - 1, None, row_splits_dtype) if ragged_rank > 2 else None
        splits = np.arange(extents_of(x)[0] + 1, dtype=dtype) * extents_of(x)[1]
        return with_splits(inner, [splits]) if outer is None else outer.with_flat_values(inner)
    rows, width = extents_of(x)[0], extents_of(x)[1]
    if lengths is None:
        kept = to_numpy(x.node) != to_numpy(as_tensor(padding, x.dtype).node)
        kept = kept.any(axis=tuple(range(2, kept.ndim))) if kept.ndim > 2 else kept
        counts = width - np.argmax(kept[:, ::-1], axis=1) if width else np.zeros(rows, np.int64)
        counts = np.where(kept.any(axis=1), counts, 0)
    else:
        counts = integers(lengths).clip(0, width)
    splits = splits_of(counts, dtype)
    return with_splits(gather(merged_axes(x, 0, 1), rowids(splits) * width + columns(splits)), [splits])


def _coordinates(nested):
    """Return the index into a dense tensor of each innermost value of nested rows, an int64 matrix."""
    places = np.arange(len(nested[0]) - 1)[:, None]
    for splits in nested:
        places = np.concatenate([places[rowids(splits)], columns(splits)[:, None]], axis=1)
    return places.astype(np.int64)


def _from_sparse(cls, st_input, name=None, row_splits_dtype=dtypes.int64):
    """Convert a sparse matrix to rows. The elements of each row must be contiguous from its start.

    >>> tf.RaggedTensor.from_sparse(tf.sparse.from_dense([[1, 2], [3, 0]]))
    <tf.RaggedTensor [[1, 2], [3]]>
    """
    if not isinstance(st_input, SparseTensor):
        raise TypeError(f"Argument `st_input` must be of type SparseTensor, but is of type {type(st_input).__name__}.")
    places, (rows, *extents) = to_numpy(st_input.indices.node), to_numpy(st_input.dense_shape.node).tolist()
    if len(extents) != 1:
        raise ValueError(f"rank(st_input) must be 2, received {len(extents) + 1}.")
    splits = splits_of(np.bincount(places[:, 0], minlength=rows), dtypes.as_dtype(row_splits_dtype).numpy)
    if not np.array_equal(places, _coordinates([splits])):
        raise invalid("SparseTensor is not right-ragged: the elements of each row must come first, in their order.")
    return with_splits(st_input.values, [splits])


@public
def _to_sparse(self, name=None):
    """Convert the rows to a SparseTensor of the shape of `to_tensor()`.

    >>> tf.sparse.to_dense(tf.ragged.constant([[1, 2], [3]]).to_sparse()).numpy().tolist()
    [[1, 2], [3, 0]]
    """
    places, values = coordinates(self)
    return SparseTensor(places, values, self.bounding_shape(out_type=dtypes.int64))


def coordinates(ragged):
    """Return `(index into the dense tensor, element)` of all elements, with the axes of the innermost values."""
    places, values = _coordinates(ragged._nested), ragged.flat_values
    inner = tuple(extents_of(values)[1:])
    if inner:
        within = np.stack(np.unravel_index(np.arange(math.prod(inner)), inner), axis=1)
        places = np.concatenate([np.repeat(places, len(within), 0), np.tile(within, (len(places), 1))], axis=1)
        values = merged_axes(values, 0, len(inner))
    return places.astype(np.int64), values


def ragged_of(x, ragged_rank):
    """Convert a tensor or RaggedTensor to one with `ragged_rank` ragged axes."""
    if not isinstance(x, RaggedTensor):
        return _from_tensor(RaggedTensor, x, ragged_rank=ragged_rank)
    missing = ragged_rank - x.ragged_rank
    return x.with_flat_values(_from_tensor(RaggedTensor, x.flat_values, ragged_rank=missing)) if missing > 0 else x


attach(
    RaggedTensor,
    from_tensor=classmethod(public(_from_tensor)),
    from_sparse=classmethod(public(_from_sparse)),
    to_sparse=_to_sparse,
)
