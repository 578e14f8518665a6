"""Counts of integers in sparse, ragged and dense tensors, as SparseTensors. Elements that are not stored do not count."""

import numpy as np

from gradtape._src.core.base.errors import invalid
from gradtape._src.core.base.public import public
from gradtape._src.core.declarations.define import AT_ONCE, not_differentiable, op, ran
from gradtape._src.core.tensors.convert import static, tensor
from gradtape._src.core.tensors.tensor import extents_of, to_numpy
from gradtape._src.core.values import dtypes
from gradtape._src.core.values.aval import aval
from gradtape._src.core.values.dim import unknown
from gradtape._src.ops.array.ragged import RaggedTensor, with_splits
from gradtape._src.ops.array.ragged_rows import splits_of
from gradtape._src.ops.array.shape import plain, reshape
from gradtape._src.ops.dispatch import version
from gradtape._src.ops.math import counting
from gradtape._src.ops.shapes import INDEX, require
from gradtape._src.ops.sparse.tensor import SparseTensor


def _rows(x):
    """Convert the stored elements of a matrix to a RaggedTensor, row by row."""
    rows = to_numpy(x.indices.node)[:, 0]
    return with_splits(x.values, [splits_of(np.bincount(rows, minlength=x._extents[0]))])


def _sparse_weights(x, weights):
    """Return the weights of the stored elements of `x`, or None; ValueError or InvalidArgumentError if their indices differ."""
    if weights is None:
        return None
    if not isinstance(weights, SparseTensor):
        raise ValueError(
            "Argument `weights` must be a SparseTensor if `values` is a SparseTensor. "
            f"Received weights={weights} of type: {type(weights).__name__}"
        )
    for what, words in (("dense_shape", "dense shape"), ("indices", "indices")):
        mine, others = [getattr(one, what) for one in (x, weights)]
        if mine is not others and not np.array_equal(to_numpy(mine.node), to_numpy(others.node)):
            raise invalid(f"'weights' and 'values' must have the same {words}.")
    return weights.values


@version(SparseTensor, counting.bincount)
def _bincount(arr, weights=None, minlength=None, maxlength=None, dtype=dtypes.int32, axis=None, binary_output=False):
    _sparse_weights(arr, weights)
    counted = _rows if axis == -1 else (lambda x: x.values)
    of = None if weights is None else counted(weights)
    return counting.bincount(counted(arr), of, minlength, maxlength, dtype, axis=axis, binary_output=binary_output)


def _counted(values, weights, rows, extents, **_):
    found, rank = unknown(), extents.size + 1
    whole = np.dtype(np.int64)
    return aval((found, rank), whole), aval((found,), weights.dtype), aval((rank,), whole)


@op("SparseCountSparseOutput", infer=_counted, unhosted=AT_ONCE)
def _counts(values, weights, rows, extents, *, minlength, maxlength, binary_output):
    """Return the parts of a SparseTensor: counts per value and row, or over all values if there are no `extents`."""
    if values.size and values.min() < 0:
        raise invalid("Input values must all be non-negative")
    if weights.size and weights.shape != values.shape:
        raise invalid(
            f"Weights and data must have the same shape. Weight shape: {plain(weights.shape)}; data shape: {plain(values.shape)}"
        )
    size = max(int(values.max(initial=0)) + 1, minlength) if maxlength < 0 else maxlength
    places = np.stack([rows, values.ravel()], axis=1).astype(np.int64)  # host-side: the op runs at once
    counted = places[:, 1] < size
    found, place = np.unique(places[counted], axis=0, return_inverse=True)
    counts = np.zeros(len(found), weights.dtype)
    if binary_output:
        counts[:] = 1
    else:
        np.add.at(counts, place, weights.ravel()[counted] if weights.size else 1)
    return found if len(extents) else found[:, 1:], counts, np.array([*extents, size], np.int64)


not_differentiable(_counts, because="which entries there are depends on values", unregistered=True)


@public
def bincount(values, weights=None, axis=0, minlength=None, maxlength=None, binary_output=False, name=None):
    """Count how often each integer occurs in `values`, or sum its `weights`: a SparseTensor with an entry for each that
    occurs.

    `values` is a tensor, a SparseTensor (of which the stored elements count) or a RaggedTensor, int32 or int64. With `axis=-1`
    each row of a matrix is counted separately, else all together. The last extent is `maxlength`; larger numbers are ignored.
    By default it is the largest number + 1, at least `minlength`. `binary_output` stores 1 for each number that occurs.

    `weights` have the class and the shape of `values`. Sums have the dtype of the weights, int32, int64, float32 or float64;
    counts that of `values`. No gradient passes. Negative numbers are an InvalidArgumentError.

    >>> counts = tf.sparse.bincount([[1, 2, 2], [5, 5, 5]], axis=-1)
    >>> counts.indices.numpy().tolist(), counts.values.numpy().tolist(), counts.shape.as_list()
    ([[0, 1], [0, 2], [1, 5]], [1, 2, 3], [2, 6])
    """
    if weights is not None and binary_output:
        raise ValueError("Arguments `binary_output` and `weights` are mutually exclusive. Please specify only one.")
    axis = 0 if axis is None else axis
    if axis not in (0, -1):
        raise ValueError(f"Unsupported value for argument axis={axis}. Only 0 and -1 are currently supported.")
    if isinstance(values, SparseTensor):
        of, counted = _sparse_weights(values, weights), values.values
        rows, extents = values.indices[:, 0], values.dense_shape[:1] if len(values.shape) > 1 else []
    elif isinstance(values, RaggedTensor):
        of, counted, rows, extents = _of_ragged(values, weights, axis)
    else:
        of, counted, rows, extents = _of_dense(values, weights, axis)
    require(counted.node.aval, INDEX)
    of = tensor(np.zeros(0, counted.dtype.numpy)) if of is None else tensor(of)
    require(of.node.aval, counting.WEIGHTS, "output_type")
    if axis == 0 or not len(extents):
        rows, extents = tensor(np.zeros(counted.node.aval.size, np.int64)), []
    bounds = [-1 if n is None else static(n, what) for n, what in ((minlength, "minlength"), (maxlength, "maxlength"))]
    extents = tensor(extents, dtypes.int64)
    return SparseTensor(*ran(_counts, counted, of, rows, extents, attrs=(*bounds, bool(binary_output))))


def _of_ragged(values, weights, axis):
    """Return `(weights or None, values, row of each value, number of rows)` of a RaggedTensor."""
    if weights is not None and not isinstance(weights, RaggedTensor):
        raise ValueError(
            "`weights` must be a RaggedTensor if `values` is a RaggedTensor. "
            f"Received argument weights={weights} of type: {type(weights).__name__}."
        )
    if weights is not None and [s.tolist() for s in values._nested] != [s.tolist() for s in weights._nested]:
        raise invalid("'weights' and 'values' must have the same row splits.")
    if axis == -1 and (values.ragged_rank > 1 or values.flat_values.ndim > 1):
        raise invalid(f"Input must be a 1 or 2-dimensional tensor. Got: {values.shape}: axis=-1 counts the rows of a matrix.")
    of = None if weights is None else reshape(weights.flat_values, [-1])
    return of, reshape(values.flat_values, [-1]), values.value_rowids(), [values.nrows()]


def _of_dense(values, weights, axis):
    """Return `(weights or None, values, row of each value, number of rows)` of a tensor; a vector has no rows."""
    if isinstance(weights, (SparseTensor, RaggedTensor)):
        raise ValueError(
            "Argument `weights` must be a tf.Tensor if `values` is a tf.Tensor. "
            f"Received weights={weights} of type: {type(weights).__name__}"
        )
    values = tensor(values)
    of = None if weights is None else tensor(weights)
    if axis == 0:
        return None if of is None else reshape(of, [-1]), reshape(values, [-1]), [], []
    if values.ndim > 2:
        raise invalid(f"Input must be a 1 or 2-dimensional tensor. Got: {plain(values.shape)}")
    if values.ndim < 2:
        return of, reshape(values, [-1]), [], []
    if of is not None and extents_of(of) != values.shape:
        raise invalid(
            f"Weights and data must have the same shape. Weight shape: {plain(extents_of(of))}; data shape: {plain(values.shape)}"
        )
    count, width = values.node.aval.shape
    rows = np.repeat(np.arange(count), width)  # host-side: row numbers
    return None if of is None else reshape(of, [-1]), reshape(values, [-1]), tensor(rows), [count]
