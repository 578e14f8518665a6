"""Elements chosen by index, by condition or by order."""

import math

from keras.src.backend.common.backend_utils import vectorize_impl

import gradtape as tf
from gradtape._src.ops.array.gather import take as gathered
from keras_gradtape.src.ops._numpy.promotion import (
    canonical,
    cast,
    numeric,
    operands,
    pair,
    tensor,
    tensors,
    truth,
)
from keras_gradtape.src.ops._numpy.rearrange import moveaxis, ravel
from keras_gradtape.src.ops._numpy.reduction import argmax, argmin
from keras_gradtape.src.ops.core import convert_to_tensor

# By condition


def where(condition, x1=None, x2=None):
    condition = truth(condition)
    if x1 is None and x2 is None:
        return nonzero(condition)
    if x1 is None or x2 is None:
        raise ValueError("`x1` and `x2` either both should be `None` or both should have non-None value.")
    x1, x2, _ = operands(x1, x2)
    return tf.where(condition, x1, x2)


def nonzero(x):
    x = tensor(x)
    if x.ndim == 0:
        raise ValueError("`nonzero` takes tensors of at least one dimension. Received a scalar.")
    return tuple(tf.unstack(tf.cast(tf.where(x), tf.int32), x.ndim, 1))


def select(condlist, choicelist, default=0):
    if len(condlist) != len(choicelist) or not condlist:
        raise ValueError(
            "`condlist` and `choicelist` must be lists of one length, and not empty. "
            f"Received: {len(condlist)} conditions, {len(choicelist)} choices."
        )
    choices, _ = tensors(choicelist)
    result, choice, _ = operands(default, choices[-1])
    for condition, choice in zip(reversed(condlist), reversed(choices), strict=True):
        result = where(condition, choice, result)
    return result


def isin(x1, x2, assume_unique=False, invert=False):
    x1, x2, _ = pair(x1, x2)
    found = tf.reduce_any(tf.equal(x1[..., None], ravel(x2)), -1)
    return tf.logical_not(found) if invert else found


# By index


def take(x, indices, axis=None):
    if isinstance(indices, tf.RaggedTensor):
        return tf.ragged.map_flat_values(lambda flat: take(x, flat, axis), indices)
    x = tensor(x)
    if axis is None:
        x, axis = ravel(x), 0
    axis = canonical(axis, x.ndim)
    return gathered(x, _as_indices(tensor(indices)), axis)


def _as_indices(x):
    """Integers in a dtype that indices can have."""
    dtype = x.dtype
    return x if dtype is tf.int32 or dtype is tf.int64 else tf.cast(x, tf.int64 if dtype.size > 2 else tf.int32)


def take_along_axis(x, indices, axis=None):
    x, indices = tensor(x), tensor(indices)
    if axis is None:
        if indices.ndim != 1:
            raise ValueError(f"`indices` must be 1D if axis=None. Received: indices.shape={tuple(indices.shape)}")
        x, axis = ravel(x), 0
    rank = x.ndim
    axis = canonical(axis, rank)
    if indices.ndim != rank:
        raise ValueError(
            f"`x` and `indices` must have one rank. Received: x.shape={tuple(x.shape)}, indices.shape={tuple(indices.shape)}"
        )
    x, indices = moveaxis(x, axis, -1), moveaxis(_as_indices(indices), axis, -1)
    batch = tf.broadcast_static_shape(x.shape[:-1], indices.shape[:-1])
    x = tf.broadcast_to(x, (*batch, x.shape[-1]))
    indices = tf.broadcast_to(indices, (*batch, indices.shape[-1]))
    return moveaxis(gathered(x, indices, rank - 1, rank - 1), -1, axis)


def unravel_index(indices, shape):
    if None in shape:
        raise ValueError(f"`shape` argument cannot contain `None`. Received: shape={shape}")
    indices = tensor(indices)
    dtype, rest = indices.dtype, _as_indices(indices)
    if not dtype.is_unsigned:
        rest = tf.where(rest < 0, rest + math.prod(shape), rest)
    places = []
    for extent in reversed(shape):
        places.append(cast(rest % extent, dtype))
        rest = rest // extent
    return tuple(reversed(places))


# By order


def sort(x, axis=-1):
    x = tensor(x)
    if axis is None:
        x, axis = ravel(x), 0
    if x.dtype.is_bool:
        return tf.cast(tf.sort(tf.cast(x, tf.uint8), axis), tf.bool)
    return tf.sort(x, axis)


def argsort(x, axis=-1):
    x = tensor(x)
    x = tf.cast(x, tf.uint8) if x.dtype.is_bool else x
    if x.ndim == 0 or axis is None:
        x, axis = ravel(x), 0
    return tf.argsort(x, axis)


def argpartition(x, kth, axis=-1):
    # Sorted is partitioned at any place.
    return argsort(x, axis)


def searchsorted(sorted_sequence, values, side="left"):
    sorted_sequence, values, _ = pair(sorted_sequence, values)
    if sorted_sequence.ndim != 1:
        raise ValueError(
            "`searchsorted` only supports 1-D sorted sequences. You can use `keras.ops.vectorized_map` to extend it to N-D "
            f"sequences. Received: sorted_sequence.shape={tuple(sorted_sequence.shape)}"
        )
    found = tf.searchsorted(numeric(sorted_sequence), numeric(ravel(values)), side, tf.int32)
    return tf.reshape(found, values.shape)


def digitize(x, bins):
    return searchsorted(bins, x, "right")


def nanargmax(x, axis=None, keepdims=False):
    return _nan_place(argmax, float("-inf"), x, axis, keepdims)


def nanargmin(x, axis=None, keepdims=False):
    return _nan_place(argmin, float("inf"), x, axis, keepdims)


def _nan_place(function, last, x, axis, keepdims):
    """The place of an extremum among what is not NaN, -1 where all is."""
    x = tensor(x)
    if not x.dtype.is_floating:
        return function(x, axis, keepdims)
    missing = tf.math.is_nan(x)
    place = function(tf.where(missing, last, x), axis, keepdims)
    return tf.where(tf.reduce_all(missing, axis, keepdims), -1, place)


# Each value once


def unique(
    x,
    sorted=True,
    return_index=False,
    return_inverse=False,
    return_counts=False,
    axis=None,
    size=None,
    fill_value=None,
):
    x = tensor(x)
    rows = ravel(x) if axis is None else moveaxis(x, axis, 0)
    flat = tf.reshape(rows, (rows.shape[0], -1))
    order = _row_order(flat)
    ranked = tf.gather(flat, order)
    begins = tf.concat([tf.ones((1,), tf.bool), tf.reduce_any(ranked[1:] != ranked[:-1], 1)], 0)[: flat.shape[0]]
    group = tf.cumsum(tf.cast(begins, tf.int32)) - 1
    first = _first_of_each(begins, size)
    index = tf.gather(order, first)
    values = tf.gather(rows, index)
    counts = tf.math.unsorted_segment_sum(tf.ones_like(group), group, flat.shape[0])
    if size is not None:
        there = tf.range(size) < group[-1] + 1
        blank = tf.reshape(there, (-1,) + (1,) * (values.ndim - 1))
        fill = values[:1] if fill_value is None else convert_to_tensor(fill_value, values.dtype)
        values, index = tf.where(blank, values, fill), tf.where(there, index, index[0])
        counts = tf.pad(counts, [(0, max(size - flat.shape[0], 0))])
    results = [values if axis is None else moveaxis(values, 0, axis)]
    if return_index:
        results.append(index)
    if return_inverse:
        inverse = tf.scatter_nd(order[:, None], group, order.shape)
        results.append(tf.reshape(inverse, x.shape) if axis is None else inverse)
    if return_counts:
        results.append(counts[: first.shape[0]])
    return results[0] if len(results) == 1 else tuple(results)


def _row_order(rows):
    """The order that sorts the rows of a matrix, the first column first."""
    order = tf.range(rows.shape[0])
    for column in reversed(range(rows.shape[1])):
        order = tf.gather(order, argsort(tf.gather(rows[:, column], order)))
    return order


def _first_of_each(begins, size):
    """Return the places where the groups begin; `size` of them, if given: the shape then does not depend on values."""
    if size is None:
        return tf.cast(tf.where(begins)[:, 0], tf.int32)
    count = begins.shape[0]
    places = tf.sort(tf.where(begins, tf.range(count), count))
    places = tf.pad(places, [(0, max(size - count, 0))])[:size]
    return tf.minimum(places, count - 1)


def vectorize(pyfunc, *, excluded=None, signature=None):
    return vectorize_impl(pyfunc, _vectorized, excluded=excluded, signature=signature)


def _vectorized(function, in_axes):
    """`function`, vectorised over the first axis of those arguments for which `in_axes` has 0."""

    def call(*args):
        mapped = [arg for arg, axis in zip(args, in_axes, strict=True) if axis is not None]

        def one(elements):
            elements = iter(elements)
            return function(*[arg if axis is None else next(elements) for arg, axis in zip(args, in_axes, strict=True)])

        return tf.vectorized_map(one, tuple(mapped))

    return call
