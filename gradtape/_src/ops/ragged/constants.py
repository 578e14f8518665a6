"""Creation of RaggedTensors from lists and from numbers: `tf.ragged`."""

import numpy as np

from gradtape._src.core.base.errors import invalid
from gradtape._src.core.base.public import public
from gradtape._src.core.tensors.convert import is_tensor, tensor
from gradtape._src.core.tensors.tensor import to_numpy
from gradtape._src.core.values import dtypes
from gradtape._src.core.values.shape import TensorShape
from gradtape._src.ops.array.ragged import RaggedTensor, with_splits
from gradtape._src.ops.array.ragged_rows import checked, depths, from_rowids, nested_lists, rowids, splits_of
from gradtape._src.ops.array.shape import host_constant, reshape

COUNTED = [np.dtype(name) for name in ("int32", "int64", "float32", "float64")]  # of two the later one holds both


def _listed(value):
    """Return a nest of lists, tuples and arrays with lists in the place of arrays."""
    if isinstance(value, np.ndarray):
        return value.tolist()
    return [_listed(item) for item in value] if isinstance(value, (list, tuple)) else value


@public
def constant(pylist, dtype=None, ragged_rank=None, inner_shape=None, name=None, row_splits_dtype=dtypes.int64):
    """Create a RaggedTensor from a nested list, or a Tensor if no axis can be ragged.

    All axes but the first are ragged, or the `ragged_rank` axes behind the first. `inner_shape` is the shape of the innermost
    values.

    >>> tf.ragged.constant([[1, 2], [3]])
    <tf.RaggedTensor [[1, 2], [3]]>
    """
    values = _listed(pylist)
    scalar, deepest = depths(values)
    if scalar is not None and deepest > scalar:
        raise ValueError(f"Invalid pylist={values!r}: empty list nesting is greater than scalar value nesting")
    inner = None if inner_shape is None else tuple(TensorShape(inner_shape).as_list())
    if ragged_rank is None:
        ragged_rank = max(deepest - 1 - len(inner or ()), 0)
    if ragged_rank < 0 or (scalar is not None and ragged_rank > max(deepest - 1, 0)):  # empty lists may be of any depth
        raise ValueError(f"Invalid pylist={values!r}: ragged_rank={ragged_rank} must be between 0 and {max(deepest - 1, 0)}.")
    values, nested = nested_lists(values, ragged_rank, dtypes.as_dtype(row_splits_dtype).numpy)
    flat = tensor(values) if dtype is None else tensor(values, dtypes.as_dtype(dtype).numpy)
    if inner is not None:
        flat = reshape(flat, [-1, *inner] if ragged_rank else inner)
    return with_splits(flat, nested)


@public
def map_flat_values(op, *args, **kwargs):
    """Call `op` with the `flat_values` of each RaggedTensor among its arguments, and return its result in their rows.

    InvalidArgumentError if their rows differ. Without a RaggedTensor it is `op(*args, **kwargs)`.

    >>> tf.ragged.map_flat_values(tf.square, tf.ragged.constant([[1, 2], [3]])).to_list()
    [[1, 4], [9]]
    """
    ragged = [x for x in (*args, *kwargs.values()) if isinstance(x, RaggedTensor)]
    if not ragged:
        return op(*args, **kwargs)
    if len(ragged) > 1:
        splits, *others = ([part.tolist() for part in x._nested] for x in ragged)
        if any(other != splits for other in others):
            raise invalid(f"Inputs must have identical ragged splits: received {[splits, *others]}.")

    def flat(x):
        return x.flat_values if isinstance(x, RaggedTensor) else x

    result = op(*map(flat, args), **{name: flat(x) for name, x in kwargs.items()})
    return ragged[0].with_flat_values(result)


@public
def range(starts, limits=None, deltas=1, dtype=None, name=None, row_splits_dtype=dtypes.int64):
    """Return rows that count from `starts[i]` up to but without `limits[i]` in steps of `deltas[i]`. Numbers apply to all
    rows.

    With one argument the rows begin with 0.

    >>> tf.ragged.range([3, 0, 2])
    <tf.RaggedTensor [[0, 1, 2], [], [0, 1]]>
    """
    if limits is None:
        starts, limits = 0, starts
    parts = [tensor(x) if dtype is None else tensor(x, None if is_tensor(x) else dtype) for x in (starts, limits, deltas)]
    kind = max([x.dtype.numpy for x in parts], key=COUNTED.index) if dtype is None else dtypes.as_dtype(dtype).numpy
    arrays = [to_numpy(x.node).astype(kind) for x in parts]
    if any(array.ndim > 1 for array in arrays):
        raise ValueError("starts, limits and deltas must be vectors or scalars.")
    counts = {array.shape[0] for array in arrays if array.ndim}
    if len(counts) > 1:
        raise invalid(f"starts, limits, and deltas must have the same shape: they have {sorted(counts)} elements.")
    starts, limits, deltas = np.broadcast_arrays(*[np.atleast_1d(array) for array in arrays])
    if not np.all(deltas):
        raise invalid("Requires delta != 0")
    lengths = (-((starts - limits) // deltas)).clip(0).astype(np.int64)
    splits = splits_of(lengths, dtypes.as_dtype(row_splits_dtype).numpy)
    ids = rowids(splits)
    values = starts[ids] + (np.arange(len(ids)) - splits[:-1][ids]) * deltas[ids]
    return with_splits(host_constant(values.astype(kind)), [splits])


@public
def row_splits_to_segment_ids(splits, name=None, out_type=None):
    """Return the row number of each value, for rows with the bounds `splits`.

    >>> tf.ragged.row_splits_to_segment_ids([0, 2, 2, 3]).numpy().tolist()
    [0, 0, 2]
    """
    found = rowids(checked(splits, "row_splits_to_segment_ids"))
    return host_constant(found if out_type is None else found.astype(dtypes.as_dtype(out_type).numpy))


@public
def segment_ids_to_row_splits(segment_ids, num_segments=None, out_type=None, name=None):
    """Return the bounds of rows from the row number of each value. `segment_ids` must not decrease.

    >>> tf.ragged.segment_ids_to_row_splits([0, 0, 2]).numpy().tolist()
    [0, 2, 2, 3]
    """
    found = from_rowids(segment_ids, None if num_segments is None else int(num_segments))
    return host_constant(found if out_type is None else found.astype(dtypes.as_dtype(out_type).numpy))
