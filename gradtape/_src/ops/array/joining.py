"""Joining and splitting tensors: concat, stack, split, unstack, and lists that hold tensors."""

import numpy as np

from gradtape._src.core.base import hooks
from gradtape._src.core.base.errors import invalid
from gradtape._src.core.base.public import public
from gradtape._src.core.declarations.define import gradient, op
from gradtape._src.core.platform.arrays import jnp, lax
from gradtape._src.core.tensors import convert
from gradtape._src.core.tensors.convert import static, static_list, tensor
from gradtape._src.core.tensors.tensor import EagerTensor, Stored, Tensor, emit, extents_of
from gradtape._src.core.values.aval import aval, changes
from gradtape._src.core.values.dim import is_unknown, unknown
from gradtape._src.ops.array.cast import cast
from gradtape._src.ops.array.shape import _broadcast_to, broadcast_source, identity, plain


def _one_axis(axis):
    """Convert `axis` (an int, a scalar tensor or a vector of one) to an int."""
    if type(axis) is int:
        return axis
    axes = static_list(axis, "axis")
    if len(axes) != 1:
        raise invalid(f"axis must be one integer, received {axis!r}.")
    return axes[0]


# ---------------------------------------------------------------------------------------------------------------------
# Concat and split


def _concatenated(*values, axis):
    first = values[0]
    if first.ndim == 0:
        raise invalid("ConcatOp : Can't concatenate scalars (use tf.stack instead)")
    if not -first.ndim <= axis < first.ndim:
        raise invalid(f"ConcatOp : Expected concatenating dimensions in the range [{-first.ndim}, {first.ndim}), but got {axis}")
    axis %= first.ndim
    total = 0
    for i, value in enumerate(values):
        shapes = f"shape[0] = {plain(first.shape)} vs. shape[{i}] = {plain(value.shape)}"
        if value.ndim != first.ndim:
            raise invalid(f"ConcatOp : Ranks of all input tensors should match: {shapes}. Reshape or expand_dims them.")
        for a, (m, n) in enumerate(zip(first.shape, value.shape, strict=True)):
            if a != axis and m != n:
                raise invalid(f"ConcatOp : Dimension {a} in both shapes must be equal: {shapes}\nOnly axis {axis} may differ.")
        total += value.shape[axis]
    return aval((*first.shape[:axis], total, *first.shape[axis + 1 :]), first.dtype)


@op(
    "ConcatV2", infer=_concatenated, joins="ConcatV2", strings=True, flops=0,
    default_name="concat", traits="linear hands_on", folds=True,
)  # fmt: skip
def _concat(*values, axis):
    return lax.concatenate(values, axis % values[0].ndim)


@gradient(_concat)
def _(dy, values, *, axis):
    axis %= dy.ndim
    return _pieces(dy, tuple([extents_of(x)[axis] for x in values]), axis)


def _pieces(dy, sizes, axis):
    """Split `dy` along `axis`. A broadcast is split into broadcasts, so that nothing large is stored."""
    source = broadcast_source(dy)
    if source is None:
        return _split_v(dy, size_splits=sizes, axis=axis)
    shape = dy.node.aval.shape
    same = extents_of(source)[axis] == 1
    parts = [source] * len(sizes) if same else _split_v(source, size_splits=sizes, axis=axis)
    return [_broadcast_to(part, shape=(*shape[:axis], size, *shape[axis + 1 :])) for part, size in zip(parts, sizes, strict=True)]


@public
def concat(values, axis, name="concat") -> Tensor:
    """Concatenate the tensors `values` along `axis`. They must agree in dtype and in all other extents.

    The result has the rank and dtype of `values`, and the sum of their extents along `axis`. InvalidArgumentError if they
    do not agree.

    >>> tf.concat([[[1, 2]], [[3, 4]]], axis=0).numpy().tolist()
    [[1, 2], [3, 4]]
    """
    axis = _one_axis(axis)
    if not isinstance(values, (list, tuple)):
        return identity(values)
    if len(values) == 1:
        return identity(values[0])
    if not values:
        raise invalid("concat needs at least one tensor, received an empty list.")
    return emit(_concat.op, convert.operands(_concat.op, values), (axis,))


def _check_axis(axis, rank):
    if not -rank <= axis < rank:
        raise invalid(f"-input rank(-{rank}) <= split_dim < input rank ({rank}), but got {axis}: axis names no axis of value.")


def _equal_parts(value, num_split, axis):
    _check_axis(axis, value.ndim)
    axis %= value.ndim
    extent = value.shape[axis]
    if num_split < 1:
        raise invalid(f"Value for attr 'num_split' of {num_split} must be at least minimum 1: the number of parts.")
    if extent % num_split and not is_unknown(extent):
        raise invalid(
            f"Number of ways to split should evenly divide the split dimension, but got split_dim {axis} (size = "
            f"{extent}) and num_split {num_split}\nGive a list of sizes for parts that differ."
        )
    part = unknown() if extent % num_split else extent // num_split
    return (aval((*value.shape[:axis], part, *value.shape[axis + 1 :]), value.dtype),) * num_split


@op(
    "Split", infer=_equal_parts, strings=True, flops=0,
    default_name="split",
)  # fmt: skip
def _split(value, *, num_split, axis):
    return tuple(jnp.split(value, num_split, axis))


@gradient(_split)
def _(*dy, axis):
    return concat(dy, axis)


def _parts(value, size_splits, axis):
    shape = value.shape
    return tuple([aval((*shape[:axis], size, *shape[axis + 1 :]), value.dtype) for size in size_splits])


@op("SplitV", infer=_parts, strings=True, flops=0, default_name="split")
def _split_v(value, *, size_splits, axis):
    return tuple(lax.split(value, size_splits, axis))


@gradient(_split_v)
def _(*dy, axis):
    return concat(dy, axis)


def split_sizes(sizes, extent):
    """Return `sizes` with -1 replaced by the rest of `extent`. Sizes that a graph does not know yet are not checked."""
    if any(map(is_unknown, sizes)):
        return tuple(sizes)
    unknown = [i for i, size in enumerate(sizes) if size == -1]
    for i, size in enumerate(sizes):
        if size < -1:
            raise invalid(f"Split size at index {i} must be >= 0. Got: {size}")
    if len(unknown) > 1:
        raise invalid(f"There can only be one -1 in the input. Received the sizes {list(sizes)}.")
    known = sum([size for size in sizes if size != -1])
    if not is_unknown(extent) and (known > extent or (not unknown and known != extent)):
        raise invalid(
            "Determined shape must either match input shape along split_dim exactly if fully specified, or be less "
            f"than the size of the input along split_dim if not fully specified.  Got: {known}, of {extent}: the sizes "
            f"are {list(sizes)}."
        )
    return tuple([extent - known if size == -1 else size for size in sizes])


@public
def split(value, num_or_size_splits, axis=0, num=None, name="split"):
    """Split `value` along `axis` into a list: of n equal parts for an int n, or of parts of the sizes listed (-1: the rest).

    InvalidArgumentError if the extent is no multiple of n, or not the sum of the sizes.

    >>> [part.numpy().tolist() for part in tf.split([1, 2, 3, 4], 2)]
    [[1, 2], [3, 4]]
    >>> [part.numpy().tolist() for part in tf.split([1, 2, 3, 4], [1, 3])]
    [[1], [2, 3, 4]]
    """
    x, axis = tensor(value), _one_axis(axis)
    if isinstance(num_or_size_splits, (int, np.integer)) and not isinstance(num_or_size_splits, bool):
        return list(_split(x, num_split=int(num_or_size_splits), axis=axis))
    given = num_or_size_splits
    if isinstance(given, (bool, float, str, bytes)) or (isinstance(given, (Tensor, Stored)) and given.ndim == 0):
        raise ValueError(
            "Rank-0 tensors are not supported as the num_or_size_splits argument to split. Argument provided: "
            f"{given!r}. Give a Python integer, or a vector of sizes."
        )
    if num is None and isinstance(given, Tensor) and changes(given.node.aval):
        raise ValueError(f"Cannot infer argument `num` from shape {given.shape}: how many sizes there are. Give num.")
    sizes = static_list(given, "num_or_size_splits")
    if num is not None and num != len(sizes):
        raise invalid(
            f"size of the split_tensor must be 1-D and have the same elements as outputs got 1 -D and {len(sizes)} "
            f"elements, where num={num}."
        )
    _check_axis(axis, x.ndim)
    axis %= x.ndim
    return list(_split_v(x, size_splits=split_sizes(sizes, x.node.aval.shape[axis]), axis=axis))


# ---------------------------------------------------------------------------------------------------------------------
# Stack and unstack


def _packed(*values, axis):
    first = values[0]
    for i, value in enumerate(values):
        if value.shape != first.shape:
            raise invalid(
                f"Shapes of all inputs must match: values[0].shape = {plain(first.shape)} != values[{i}].shape = "
                f"{plain(value.shape)}\nUse tf.concat for tensors that differ along one axis."
            )
    axis %= first.ndim + 1
    return aval((*first.shape[:axis], len(values), *first.shape[axis:]), first.dtype)


@op(
    "Pack", infer=_packed, joins="ConcatV2", strings=True, flops=0, default_name="stack",
    traits="linear hands_on", folds=True,
)  # fmt: skip
def _pack(*values, axis):
    return jnp.stack(values, axis)


@gradient(_pack)
def _(dy, values, *, axis):
    axis, count = axis % dy.ndim, len(values)
    source = broadcast_source(dy)
    if source is None:
        return _unpack(dy, num=count, axis=axis)
    shape = values[0].node.aval.shape
    extent = extents_of(source)[axis]
    parts = [_broadcast_to(part, shape=shape) for part in _unpack(source, num=extent, axis=axis)]
    return parts * count if extent == 1 else parts


def _check_stack_axis(axis, rank):
    if not -rank <= axis < rank:
        raise ValueError(f"Argument `axis` = {axis} not in range [{-rank}, {rank})")


@public
def stack(values, axis=0, name="stack") -> Tensor:
    """Stack the tensors `values`, of one shape and dtype, along a new axis.

    `axis` is the position of the new axis, whose extent is the number of tensors. InvalidArgumentError if shapes or dtypes
    differ.

    >>> tf.stack([[1, 2], [3, 4]], axis=1).numpy().tolist()
    [[1, 3], [2, 4]]
    """
    axis = _one_axis(axis)
    if not isinstance(values, (list, tuple)):
        whole = tensor(values)
        if axis == 0:
            return whole
        values = unstack(whole)
    if not any(isinstance(value, (Tensor, Stored)) for value in values):
        whole = tensor(values)
        if axis == 0 or not values:
            return whole
        values = unstack(whole)
    _check_stack_axis(axis, np.ndim(values[0]) + 1 if not isinstance(values[0], (Tensor, Stored)) else values[0].ndim + 1)
    return _pack(*values, axis=axis)


@public
def parallel_stack(values, name="parallel_stack") -> Tensor:
    """Stack `values` along a new first axis, as `tf.stack` does.

    >>> print(tf.parallel_stack([tf.constant([1, 2]), tf.constant([3, 4])]).numpy())
    [[1 2]
     [3 4]]
    """
    return stack(values)


def _unpacked(value, num, axis):
    if value.shape[axis] != num and not is_unknown(value.shape[axis]):
        raise invalid(f"Input shape axis {axis} must equal {num}, got shape {plain(value.shape)}\nLeave num out to take all.")
    return (aval((*value.shape[:axis], *value.shape[axis + 1 :]), value.dtype),) * num


@op(
    "Unpack", infer=_unpacked, strings=True, flops=0,
    default_name="unstack", traits="hands_on",
)  # fmt: skip
def _unpack(value, *, num, axis):
    return tuple([lax.index_in_dim(value, i, axis, keepdims=False) for i in range(num)])


@gradient(_unpack)
def _(*dy, axis):
    return _pack(*dy, axis=axis)


@public
def unstack(value, num=None, axis=0, name="unstack"):
    """Return the slices of `value` along `axis` as a list; they do not have that axis. `num`, if given, must be its extent.

    InvalidArgumentError for another `num`, ValueError for an axis out of range.

    >>> [row.numpy().tolist() for row in tf.unstack([[1, 2], [3, 4]])]
    [[1, 2], [3, 4]]
    """
    x, axis = tensor(value), _one_axis(axis)
    _check_stack_axis(axis, x.ndim)
    axis %= x.ndim
    count = x.node.aval.shape[axis] if num is None else static(num, "num")
    if num is None and is_unknown(count):
        raise ValueError(f"Cannot infer argument `num` from shape {x.shape}: how many slices there are. Give num.")
    return list(_unpack(x, num=count, axis=axis)) if count or num else []


# ---------------------------------------------------------------------------------------------------------------------
# Lists that hold tensors


def pack_list(values, dtype):
    """Stack a nest of lists that holds tensors into one node. `dtype` is NumPy's; None means that of the first tensor."""
    given = dtype
    if dtype is None:
        dtype = _first_dtype(values)
    return stack([_element(value, dtype, given) for value in values]).node


def _element(value, dtype, given):
    if isinstance(value, (list, tuple)) and convert.holds_tensor(value):
        return EagerTensor(pack_list(value, dtype))
    if given is not None and isinstance(value, (Tensor, Stored)):
        return cast(value, given)
    if isinstance(value, (Tensor, Stored)) and convert.dtype_of(value) is not dtype:
        raise convert.mismatch(_pack.op, 1, dtype, convert.dtype_of(value))
    return tensor(value, dtype)


def _first_dtype(values):
    pending = list(values)
    while pending:
        value = pending.pop(0)
        if isinstance(value, (list, tuple)):
            pending = [*value, *pending]
        elif isinstance(value, (Tensor, Stored)):
            return convert.dtype_of(value)
    return None


hooks.core.pack = pack_list
