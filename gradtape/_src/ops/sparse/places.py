"""Functions that change the indices of SparseTensors: order, shape, selection and concatenation.

Indices are constants and values are gathered, so gradients go to the values.
"""

import math
import operator
from itertools import accumulate

import numpy as np

from gradtape._src.core.base.errors import invalid, invalid_for
from gradtape._src.core.base.public import public
from gradtape._src.core.tensors.convert import is_tensor, static, static_list, tensor
from gradtape._src.core.tensors.tensor import extents_of, to_numpy
from gradtape._src.core.values import dtypes
from gradtape._src.ops.array.cast import cast
from gradtape._src.ops.array.gather import gather
from gradtape._src.ops.array.joining import concat as joined, stack
from gradtape._src.ops.array.select import where
from gradtape._src.ops.array.shape import host_constant, ones
from gradtape._src.ops.array.sort import argsort
from gradtape._src.ops.math.arithmetic import abs as abs_, add as plus
from gradtape._src.ops.math.compare import greater_equal, not_equal
from gradtape._src.ops.math.cumulative import cumsum
from gradtape._src.ops.math.rounding import floordiv, floormod
from gradtape._src.ops.math.segment import segment_sum, take_rows
from gradtape._src.ops.shapes import axis_of, plain
from gradtape._src.ops.sparse.tensor import SparseTensor, SparseTensorValue, flat_places, reduce_sum, required


def _in_order(x, indices, shape):
    """Return a SparseTensor of the values of `x` at `indices` in `shape`, in row-major order."""
    order = argsort(flat_places(indices, shape), stable=True)
    values = gather(x.values, order) if x.dtype == dtypes.string else take_rows(x.values, order)
    return SparseTensor(gather(indices, order), values, shape)


def _columns(indices, axes):
    return gather(indices, host_constant(np.array(axes, np.int64)), axis=1)


@public
def reorder(sp_input, name=None):
    """Return `sp_input` with its elements in row-major order, as most functions require.

    >>> x = tf.SparseTensor(indices=[[1, 0], [0, 1]], values=[3.0, 2.0], dense_shape=[2, 2])
    >>> tf.sparse.reorder(x).values.numpy()
    array([2., 3.], dtype=float32)
    """
    x = required(sp_input)
    return _in_order(x, x.indices, x._extents)


@public
def transpose(sp_input, perm=None, name=None):
    """Return `sp_input` with its axes in the order `perm` (reversed by default), and its elements in row-major order.

    >>> tf.sparse.to_dense(tf.sparse.transpose(tf.sparse.from_dense([[0.0, 5.0]]))).numpy().tolist()
    [[0.0], [5.0]]
    """
    x = required(sp_input)
    axes = list(range(len(x._extents)))
    perm = axes[::-1] if perm is None else [int(axis) for axis in static_list(perm, "perm")]
    if sorted(perm) != axes:
        raise invalid(f"perm {perm} must name each of the {len(axes)} axes of shape {plain(x._extents)} once.")
    return _in_order(x, _columns(x.indices, perm), [x._extents[axis] for axis in perm])


@public
def reshape(sp_input, shape, name=None):
    """Return `sp_input` with another shape and its elements in their order; one extent may be -1.

    >>> tf.sparse.reshape(tf.sparse.from_dense([[0.0, 5.0]]), [2, 1]).indices.numpy().tolist()
    [[1, 0]]
    """
    x = required(sp_input)
    size, shape = math.prod(x._extents), [int(extent) for extent in static_list(shape, "shape")]
    known = math.prod([extent for extent in shape if extent != -1])
    if shape.count(-1) > 1:
        raise invalid(f"only one output dimension may be -1, received {plain(shape)}.")
    if -1 in shape:
        if known == 0 or size % known:
            raise invalid(
                f"Input to reshape is a SparseTensor with {size} dense values, but the requested shape requires a multiple of "
                f"{known}. input_shape={plain(x._extents)} output_shape={plain(shape)}"
            )
        shape = [size // known if extent == -1 else extent for extent in shape]
    elif known != size:
        raise invalid(
            f"Input to reshape is a tensor with {size} dense values, but the requested shape has {known}. "
            f"input_shape={plain(x._extents)} output_shape={plain(shape)}"
        )
    places, strides = flat_places(x.indices, x._extents), list(accumulate([1, *shape[:0:-1]], operator.mul))[::-1]
    columns = [floormod(floordiv(places, max(stride, 1)), max(extent, 1)) for stride, extent in zip(strides, shape, strict=True)]
    return SparseTensor(stack(columns, axis=1), x.values, shape)


@public
def expand_dims(sp_input, axis=None, name=None):
    """Return `sp_input` with a new axis of extent 1 before `axis`, at the end by default.

    >>> tf.sparse.expand_dims(tf.sparse.from_dense([[0.0, 5.0]]), 0).dense_shape.numpy()
    array([1, 1, 2])
    """
    x = required(sp_input)
    shape = list(x._extents)
    at = axis_of(-1 if axis is None else static(axis, "axis"), len(shape) + 1)
    left, right = _columns(x.indices, range(at)), _columns(x.indices, range(at, len(shape)))
    new = host_constant(np.zeros([extents_of(x.indices)[0], 1], np.int64))
    return SparseTensor(joined([left, new, right], 1), x.values, [*shape[:at], 1, *shape[at:]])


@public
def retain(sp_input, to_retain):
    """Return the elements of `sp_input` for which `to_retain`, a vector of bools, is True.

    >>> tf.sparse.retain(tf.sparse.from_dense([[4.0, 5.0]]), [False, True]).values.numpy()
    array([5.], dtype=float32)
    """
    x, chosen = required(sp_input), tensor(to_retain, None if is_tensor(to_retain) else dtypes.bool)
    if not chosen.node.aval.tensor_shape.is_compatible_with(extents_of(x.values)):
        raise ValueError(
            f"Dimensions {x.values.shape[0]} and {chosen.shape[0] if chosen.ndim else None} are not compatible: to_retain has a "
            "bool for each element."
        )
    kept = where(chosen)[:, 0]
    return SparseTensor(gather(x.indices, kept), gather(x.values, kept), x.dense_shape)


@public
def concat(axis, sp_inputs, expand_nonconcat_dims=False, name=None):
    """Concatenate SparseTensors along `axis`, with the elements in row-major order.

    With `expand_nonconcat_dims` the other axes may differ, and get the largest extent.

    >>> x = tf.sparse.from_dense([[0.0, 5.0]])
    >>> tf.sparse.to_dense(tf.sparse.concat(0, [x, x])).numpy().tolist()
    [[0.0, 5.0], [0.0, 5.0]]
    """
    parts = [required(part) for part in sp_inputs]
    if not parts:
        raise ValueError("concat takes at least one SparseTensor, received none.")
    shapes = [list(part._extents) for part in parts]
    at, shape = axis_of(axis, len(shapes[0])), list(shapes[0])
    for number, other in enumerate(shapes[1:], 1):
        if len(other) != len(shape):
            raise invalid(
                f"Ranks of all input tensors must match: expected {len(shape)} but got {len(other)} at position {number}."
            )
        for i, (extent, given) in enumerate(zip(shape, other, strict=True)):
            if i != at and extent != given and not expand_nonconcat_dims:
                raise invalid(
                    f"Input shapes must match: expected {extent} for dimension {i} but got {given} at position {number}. "
                    "With expand_nonconcat_dims=True the larger one counts."
                )
            shape[i] = max(extent, given)
    starts = list(accumulate([other[at] for other in shapes], initial=0))
    shape[at] = starts[-1]
    unit = np.eye(len(shape), dtype=np.int64)[at]
    moved = [plus(part.indices, host_constant(unit * start)) for part, start in zip(parts, starts[:-1], strict=True)]
    whole = SparseTensor(joined(moved, 0), joined([part.values for part in parts], 0), shape)
    return reorder(whole)


@public
def values_at_places_of(first, other):
    """Return the values of a SparseTensor; InvalidArgumentError unless its shape and indices are those of `first`."""
    if other._extents != first._extents or extents_of(other.indices) != extents_of(first.indices):
        raise invalid(f"Mismatched shapes! {plain(first._extents)} and {plain(other._extents)}: all have the same places.")
    if other.indices.node is not first.indices.node:
        own, others = to_numpy(first.indices.node), to_numpy(other.indices.node)
        if (own != others).any():
            raise invalid(f"Mismatched indices! {plain(own)} and {plain(others)}: all have the same places.")
    return other.values


@public
def map_values(op, *args, **kwargs):
    """Call `op` on the values of the SparseTensors among the arguments, and return its result with their indices.

    All of them must have the same indices; other arguments are passed on unchanged.

    >>> tf.sparse.map_values(tf.square, tf.sparse.from_dense([[0.0, 5.0]])).values.numpy()
    array([25.], dtype=float32)
    """
    given = [x for x in (*args, *kwargs.values()) if isinstance(x, SparseTensor)]
    if not given:
        raise ValueError("No SparseTensor in argument list of map_values")
    first = given[0]

    def values(x):
        if not isinstance(x, SparseTensor):
            return x
        return first.values if x is first else values_at_places_of(first, x)

    return first.with_values(op(*map(values, args), **{name: values(x) for name, x in kwargs.items()}))


@public
def eye(num_rows, num_columns=None, dtype=dtypes.float32, name=None):
    """Return the identity matrix as a SparseTensor.

    >>> tf.sparse.eye(2).indices.numpy().tolist()
    [[0, 0], [1, 1]]
    """
    rows = static(num_rows, "num_rows")
    columns = rows if num_columns is None else static(num_columns, "num_columns")
    diagonal = np.arange(min(rows, columns), dtype=np.int64)
    return SparseTensor(host_constant(np.stack([diagonal, diagonal], 1)), ones([len(diagonal)], dtype), [rows, columns])


@public
def add(a, b, threshold=0):
    """Add two tensors of one shape, at least one of them a SparseTensor. With a dense one the result is dense.

    Elements with |sum| < `threshold` are left out.

    >>> x = tf.sparse.from_dense([[0.0, 5.0]])
    >>> tf.sparse.add(x, x).values.numpy(), tf.sparse.add(x, [[1.0, 1.0]]).numpy().tolist()
    (array([10.], dtype=float32), [[1.0, 6.0]])
    """
    a, b = [required(x) if isinstance(x, SparseTensorValue) else x for x in (a, b)]
    if not isinstance(a, SparseTensor) and not isinstance(b, SparseTensor):
        raise TypeError("At least one input should be SparseTensor; do you mean to use tf.add()?")
    if not isinstance(a, SparseTensor) or not isinstance(b, SparseTensor):
        dense = [reduce_sum(x, ()) if isinstance(x, SparseTensor) else tensor(x) for x in (a, b)]
        shapes = list(map(extents_of, dense))
        if shapes[0] != shapes[1]:
            raise invalid_for("SparseTensorDenseAdd", f"Operands' shapes do not match: {plain(shapes[0])} and {plain(shapes[1])}")
        return plus(*dense)
    for i, (extent, other) in enumerate(zip(a._extents, b._extents, strict=True)):
        if extent != other:
            raise invalid(f"Operands' shapes do not match: got {extent} and {other} for dimension {i}")
    both = reorder(SparseTensor(joined([a.indices, b.indices], 0), joined([a.values, b.values], 0), a.dense_shape))
    places = flat_places(both.indices, a._extents)
    first = joined([host_constant(np.ones([1], bool)), not_equal(places[1:], places[:-1])], 0)[: extents_of(places)[0]]
    groups = cumsum(cast(first, dtypes.int64)) - 1
    total = SparseTensor(gather(both.indices, where(first)[:, 0]), segment_sum(both.values, groups), a.dense_shape)
    if is_tensor(threshold) or threshold:
        total = retain(total, greater_equal(abs_(total.values), cast(threshold, abs_(total.values).dtype)))
    return total
