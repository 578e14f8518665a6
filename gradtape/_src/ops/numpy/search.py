"""NumPy functions for searching and for distinct elements, which `tf.experimental.numpy` does not have. Indices are int32."""

import math

from gradtape._src.core.tensors.convert import tensor
from gradtape._src.core.tensors.tensor import extents_of
from gradtape._src.ops.array import sort as _sort
from gradtape._src.ops.array.cast import cast
from gradtape._src.ops.array.creation import ones_like, range_
from gradtape._src.ops.array.gather import gather
from gradtape._src.ops.array.joining import concat
from gradtape._src.ops.array.points import scatter_nd
from gradtape._src.ops.array.rearrange import pad
from gradtape._src.ops.array.select import where
from gradtape._src.ops.array.shape import ones, reshape
from gradtape._src.ops.math import arithmetic, compare, cumulative, reduction, rounding
from gradtape._src.ops.math.segment import unsorted_segment_sum
from gradtape._src.ops.numpy.policy import TENSORFLOW, numpy_function
from gradtape._src.ops.numpy.selection import argsort
from gradtape._src.ops.numpy.shapes import moveaxis, ravel


@numpy_function
def isin(x1, x2, assume_unique=False, invert=False, *, policy=TENSORFLOW):
    """Return whether each element of `x1` is in `x2`, or with `invert` whether it is not."""
    x1, x2 = policy.promoted(x1, x2)
    found = reduction.reduce_any(compare.equal(x1[..., None], ravel(x2)), -1)
    return compare.logical_not(found) if invert else found


@numpy_function
def searchsorted(sorted_sequence, values, side="left", *, policy=TENSORFLOW):
    """Return the indices at which to insert `values` into a sorted vector. ValueError for more than one axis."""
    row, x = policy.promoted(sorted_sequence, values)
    if row.ndim != 1:
        raise ValueError(
            "`searchsorted` only supports 1-D sorted sequences. You can use `keras.ops.vectorized_map` to extend it to N-D "
            f"sequences. Received: sorted_sequence.shape={tuple(row.shape)}"
        )
    return reshape(_sort.searchsorted(policy.numeric(row), policy.numeric(ravel(x)), side), extents_of(x))


@numpy_function
def digitize(x, bins, *, policy=TENSORFLOW):
    """Return the index of the bin of each element, for ascending edges `bins`."""
    return searchsorted(bins, x, "right", policy=policy)


@numpy_function
def unravel_index(indices, shape, *, policy=TENSORFLOW):
    """Convert indices into a flattened array of a shape to indices along each axis, a tuple."""
    if None in shape:
        raise ValueError(f"`shape` argument cannot contain `None`. Received: shape={shape}")
    indices = policy.array(indices)
    dtype, rest = indices.dtype, as_indices(indices)
    if not dtype.is_unsigned:
        rest = where(rest < 0, rest + math.prod(shape), rest)
    places = []
    for extent in reversed(shape):
        places.append(cast(rounding.floormod(rest, extent), dtype))
        rest = rounding.floordiv(rest, extent)
    return tuple(reversed(places))


def as_indices(x):
    """Convert integers to a dtype that is valid for indices."""
    return x if x.dtype.name in ("int32", "int64") else cast(x, "int64" if x.dtype.size > 2 else "int32")


@numpy_function
def unique(
    x,
    sorted=True,
    return_index=False,
    return_inverse=False,
    return_counts=False,
    axis=None,
    size=None,
    fill_value=None,
    *,
    policy=TENSORFLOW,
):
    """Return the distinct elements, or slices along an axis, in ascending order, followed by the results asked for, as a
    tuple.

    `size` sets the number of results, padded with `fill_value`, so that no shape depends on values.
    """
    x = policy.array(x)
    rows = ravel(x) if axis is None else moveaxis(x, axis, 0)
    flat = reshape(rows, (extents_of(rows)[0], -1))
    order = _row_order(flat)
    ranked = gather(flat, order)
    differ = reduction.reduce_any(compare.not_equal(ranked[1:], ranked[:-1]), 1)
    begins = concat([ones((1,), "bool"), differ], 0)[: extents_of(flat)[0]]
    group = cumulative.cumsum(cast(begins, "int32")) - 1
    first = _first_of_each(begins, size)
    index = gather(order, first)
    values = gather(rows, index)
    counts = unsorted_segment_sum(ones_like(group), group, extents_of(flat)[0])
    if size is not None:
        there = range_(size) < group[-1] + 1
        blank = reshape(there, (-1,) + (1,) * (values.ndim - 1))
        fill = values[:1] if fill_value is None else policy.array(fill_value, values.dtype)
        values, index = where(blank, values, fill), where(there, index, index[0])
        counts = pad(counts, [(0, max(size - extents_of(flat)[0], 0))])
    results = [values if axis is None else moveaxis(values, 0, axis)]
    if return_index:
        results.append(index)
    if return_inverse:
        inverse = scatter_nd(order[:, None], group, extents_of(order))
        results.append(reshape(inverse, extents_of(x)) if axis is None else inverse)
    if return_counts:
        results.append(counts[: extents_of(first)[0]])
    return results[0] if len(results) == 1 else tuple(results)


def _row_order(rows):
    """Return the permutation that sorts the rows of a matrix lexicographically."""
    order = range_(extents_of(rows)[0])
    for column in reversed(range(extents_of(rows)[1])):
        order = gather(order, argsort(gather(rows[:, column], order)))
    return order


def _first_of_each(begins, size):
    """Return the index of the first element of each group. With a `size` the shape does not depend on values."""
    if size is None:
        return cast(where(begins)[:, 0], "int32")
    count = extents_of(begins)[0]
    places = _sort.sort(where(begins, range_(count), tensor(count, "int32")))
    places = pad(places, [(0, max(size - count, 0))])[:size]
    return arithmetic.minimum(places, count - 1)
