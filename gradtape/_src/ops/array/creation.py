"""Tensors made from a shape, bounds or indices: fill, eye, range, linspace, one_hot, masks, grids."""

import math

import numpy as np

from gradtape._src.core.base.errors import invalid, invalid_dtype, invalid_for
from gradtape._src.core.base.public import public
from gradtape._src.core.base.signatures import known_as
from gradtape._src.core.declarations.define import AT_ONCE, gradient, not_differentiable, op, ran
from gradtape._src.core.engine import constant_folding, engine
from gradtape._src.core.engine.engine import tracing
from gradtape._src.core.platform import memory
from gradtape._src.core.platform.arrays import jnp, lax
from gradtape._src.core.programs.op import Op
from gradtape._src.core.tensors.convert import NUMBERS, settled, static, static_vector, tensor
from gradtape._src.core.tensors.tensor import Stored, Tensor, emit, extents_of, handle, to_numpy
from gradtape._src.core.values import dtypes
from gradtape._src.core.values.aval import aval, changes
from gradtape._src.core.values.dim import Dim, guided, unknown
from gradtape._src.ops.array.cast import cast
from gradtape._src.ops.array.extents import shape
from gradtape._src.ops.array.joining import concat
from gradtape._src.ops.array.select import where
from gradtape._src.ops.array.shape import (
    _broadcast_to,
    _reshape,
    broadcast_to,
    expand_dims,
    extents,
    filled,
    host_constant,
    index_operands,
    plain,
)
from gradtape._src.ops.math.arithmetic import QUOTIENT
from gradtape._src.ops.math.compare import equal
from gradtape._src.ops.math.reduction import reduce_sum
from gradtape._src.ops.shapes import INDEX, NUMERIC, broadcast_shapes, require


def _like(input, value, dtype):
    x = tensor(input)
    of = x.dtype if dtype is None else dtypes.as_dtype(dtype)
    if x.node.aval.ranked:
        return filled(x.node.aval.shape, value, of)
    made = filled((), value, of)
    return where(equal(x, x), made, made)


def number_of_rows(x):
    """Return the first extent of a tensor, and None.

    For a tensor of unknown rank a graph records a counter that has this extent, and the second result is the number (int64).
    """
    if x.node.aval.ranked:
        return x.node.aval.shape[0], None
    number = cast(shape(x)[0], dtypes.int64)
    return range_(number).node.aval.shape[0], number


@public
def zeros_like(input, dtype=None, name=None, layout=None):
    """Return zeros in the shape of `input`, and in its dtype unless another is given.

    >>> tf.zeros_like([5.0, 6.0]).numpy()
    array([0., 0.], dtype=float32)
    """
    return _like(input, 0, dtype)


def zeros_of(node):
    """Return zeros in the shape and dtype of a node. Where a graph does not know the shape, they are made at session time."""
    x = handle(node)
    return zeros_like(x) if changes(node.aval) else filled(node.aval.shape, 0, x.dtype)


@public
def ones_like(input, dtype=None, name=None, layout=None):
    """Return ones in the shape of `input`, and in its dtype unless another is given. A dtype without a number 1, such as
    string, is an InvalidArgumentError.

    >>> tf.ones_like([5.0, 6.0]).numpy()
    array([1., 1.], dtype=float32)
    """
    x = tensor(input)
    require(x.node.aval if dtype is None else aval((), dtypes.as_dtype(dtype).numpy), (*NUMERIC, "bool"))
    return _like(x, 1, dtype)


def _filled_aval(value, dims):
    if value.ndim:
        raise invalid(f"value must represent a scalar, got shape {plain(value.shape)}: tf.broadcast_to repeats more than one.")
    return aval(dims, value.dtype)


@op("Fill", infer=_filled_aval, cheap=True, strings=True, flops=0, traits="hands_on")
def _fill(value, *, dims):
    return jnp.broadcast_to(value, dims)


@gradient(_fill)
def _(dy):
    return reduce_sum(dy)


@public
def fill(dims, value, name=None, layout=None) -> Tensor:
    """Return a tensor of shape `dims`, each element the scalar `value`.

    The dtype is that of `value`: float32 for a Python float, int32 for an int. InvalidArgumentError for a negative extent.

    >>> tf.fill([2, 2], 7.0).numpy().tolist()
    [[7.0, 7.0], [7.0, 7.0]]
    """
    return _fill(_number(tensor(value)), dims=extents(dims, "dims"))


def _number(x):
    """Return `x`, as a scalar outside of functions if it is a vector of one: TensorFlow accepts both."""
    return _reshape(x, shape=()) if x.node.aval.shape == (1,) and not tracing() else x


@op("Eye", infer=lambda rows, columns, dtype: aval((rows, columns), dtype), cheap=True, flops=0, traits="own")
def _eye(*, rows, columns, dtype):
    return jnp.eye(rows, columns, dtype=dtype)


not_differentiable(_eye, because="it has no inputs")


def _extent(value, what):
    """Convert an extent of `eye` to an int. A floating tensor is truncated, as in TensorFlow; a floating number is refused."""
    if isinstance(value, (Tensor, Stored)) and dtypes.is_floating(value.dtype.numpy):
        value = cast(value, dtypes.int32)
    return static(value, what)


@public
def eye(num_rows, num_columns=None, batch_shape=None, dtype=dtypes.float32, name=None) -> Tensor:
    """Return the identity matrix of shape `batch_shape + [num_rows, num_columns]`; `num_columns` is `num_rows` by default.

    `dtype` is float32 by default. InvalidArgumentError for a negative extent.

    >>> tf.eye(2).numpy().tolist()
    [[1.0, 0.0], [0.0, 1.0]]
    """
    rows = _extent(num_rows, "num_rows")
    columns = rows if num_columns is None else _extent(num_columns, "num_columns")
    extents((rows, columns), "the shape of eye")
    if dtypes.as_dtype(dtype) == dtypes.string:
        raise TypeError("Cannot convert 1 to EagerTensor of dtype string: a unit matrix is one of numbers.")
    matrix = _eye(rows=rows, columns=columns, dtype=dtypes.as_dtype(dtype).numpy)
    return matrix if batch_shape is None else broadcast_to(matrix, (*extents(batch_shape, "batch_shape"), rows, columns))


# ---------------------------------------------------------------------------------------------------------------------
# Sequences of numbers

CONSTANT = 1 << 16  # the longest range that a function stores as a constant; a longer one is computed at run time
_RANGES = (dtypes.int32, dtypes.int64, dtypes.float16, dtypes.bfloat16, dtypes.float32, dtypes.float64)


@op("Range", infer=lambda start, limit, delta, dtype: aval((unknown(),), dtype), unhosted=AT_ONCE, flops=0, default_name="range")
def _range(start, limit, delta, *, dtype):
    if dtype.kind in "iu":
        return np.arange(int(start), int(limit), int(delta), dtype=dtype)
    first, last, step = [np.asarray(x).astype(dtype) for x in (start, limit, delta)]
    return first + np.arange(int(_steps(first, last, step))).astype(dtype) * step


def _steps(first, last, step):
    """Return the number of elements of a range, or infinity, rounded in the precision of the bounds, as in TensorFlow."""
    if first.dtype.kind in "iu":
        return math.ceil((int(last) - int(first)) / int(step))
    with np.errstate(over="ignore"):
        quotient = abs(float((last - first) / step))
    return math.ceil(quotient) if math.isfinite(quotient) else quotient


def _is_whole(bound):
    return bound.dtype.is_integer if isinstance(bound, (Tensor, Stored)) else isinstance(bound, (int, np.integer, Dim))


def _count(start, limit, delta):
    return max(0, (limit - start + delta - (1 if delta > 0 else -1)) // delta)


_COUNTED = Op(
    "Range", lambda *, start, limit, delta, dtype: jnp.arange(start, limit, delta, dtype=dtype),
    infer=lambda *, start, limit, delta, dtype: aval((_count(start, limit, delta),), dtype), cheap=True,
    reason="it has no inputs", flops=0, default_name="range",
)  # fmt: skip
_range.op.derived["counted"] = _COUNTED  # saved models look up the op by this name

not_differentiable(_range, because="range gives as many numbers as its bounds say: their number jumps")


@public
@known_as("range")
def range_(start, limit=None, delta=1, dtype=None, name="range") -> Tensor:
    """Return the numbers from `start` up to, but without, `limit`, `delta` apart. `range(limit)` starts at 0.

    The result is a vector of int32, int64 or a floating type: `dtype`, or the widest of the arguments' types. Tensors as bounds
    are evaluated, because the length depends on them. InvalidArgumentError if `limit` lies on the wrong side of `start`.

    >>> tf.range(5).numpy()
    array([0, 1, 2, 3, 4], dtype=int32)
    >>> tf.range(1.0, 2.0, 0.25).numpy()
    array([1.  , 1.25, 1.5 , 1.75], dtype=float32)
    """
    if limit is None:
        start, limit = 0, start
    dtype = None if dtype is None else dtypes.as_dtype(dtype)
    given = (start, limit, delta)
    bounds = [_number(tensor(x) if isinstance(x, (Tensor, Stored)) else tensor(x, dtype)) for x in given]
    for what, bound in zip(("start", "limit", "delta"), bounds, strict=True):
        if bound.ndim:
            raise invalid_for("Range", f"{what} must be a scalar, not shape {plain(extents_of(bound))}")
        if bound.dtype not in _RANGES:
            raise TypeError(f"range takes int32, int64 and floating-point numbers, received {what} of dtype {bound.dtype.name}.")
    numpy_dtype = (dtype or max([bound.dtype for bound in bounds], key=_RANGES.index)).numpy
    computed = any(isinstance(x, (Tensor, Stored)) for x in given)
    folded = [] if engine.current_graph() is None else [constant_folding.folded(bound.node) for bound in bounds]
    known = [value for value in folded if value is not None]
    if len(known) == len(bounds):
        computed = False
    elif all(map(_is_whole, given)) and (engine.current_graph() is not None or guided()):
        ints = [static(bound, what) for what, bound in zip(("start", "limit", "delta"), given, strict=True)]
        if any(type(x) is not int for x in ints):  # the length is known only when the graph runs
            return emit(_COUNTED, (), (*ints, numpy_dtype))
    values = known if len(known) == len(bounds) else [to_numpy(bound.node) for bound in bounds]
    first, last, step = [value.astype(numpy_dtype) for value in values]
    if step == 0:
        raise invalid_for("Range", f"Requires delta != 0: {step}")
    if not (first <= last if step > 0 else first >= last):  # written so that NaN is refused, too
        sign, relation = (">", "<=") if step > 0 else ("<", ">=")
        raise invalid_for("Range", f"Requires start {relation} limit when delta {sign} 0: {first}/{last}")
    count = _steps(first, last, step)
    if count > np.iinfo("int64").max:
        raise invalid_for("Range", f"Requires ((limit - start) / delta) <= {np.iinfo('int64').max}: ({last} - {first}) / {step}")
    memory.check_array(count, numpy_dtype)
    # Constants of a function have values, those of a graph do not.
    in_function = engine.local.trace.scope is not None and engine.current_graph() is None
    if computed and not in_function:
        return ran(_range, *bounds, attrs=(numpy_dtype,))
    if in_function and numpy_dtype.kind == "i" and count > CONSTANT:
        return emit(_COUNTED, (), (int(first), int(last), int(step), numpy_dtype))
    return host_constant(_range.op.kernel(first, last, step, dtype=numpy_dtype))


@public
def linspace(start, stop, num, name=None, axis=0) -> Tensor:
    """Return `num` evenly spaced numbers from `start` to `stop`, both included, along a new axis `axis`.

    `start` and `stop` may be tensors, which are broadcast. Integers give float64, those of 8 and 16
    bits float32. InvalidArgumentError if `num` < 0.

    >>> tf.linspace(0.0, 1.0, 5).numpy()
    array([0.  , 0.25, 0.5 , 0.75, 1.  ], dtype=float32)
    """
    first = tensor(start)
    last = tensor(stop, first.dtype)
    if first.dtype.is_integer:
        first, last = [cast(x, QUOTIENT[x.dtype.name]) for x in (first, last)]
    count = settled(num, "num")
    if count < 0:
        raise invalid(f"linspace needs num >= 0, received {count}.")
    shape = broadcast_shapes(first.node.aval.shape, last.node.aval.shape)
    first, last = [expand_dims(broadcast_to(x, shape), axis) for x in (first, last)]
    axis = static(axis, "axis") % first.ndim
    if count == 0:
        return filled((*shape[:axis], 0, *shape[axis:]), 0, first.dtype)
    if count == 1:
        return first
    memory.check_array(count, first.dtype.as_numpy_dtype)
    if count > 1 and type(start) in NUMBERS and type(stop) in NUMBERS:
        return host_constant(_between_numbers(start, stop, count, first.dtype.as_numpy_dtype))
    steps = np.arange(1, count - 1).astype(first.dtype.as_numpy_dtype)
    steps = steps.reshape([-1 if a == axis else 1 for a in range(first.ndim)])
    return concat([first, first + (last - first) / (count - 1) * steps, last], axis)


def _between_numbers(start, stop, count, dtype):
    """Return `linspace` computed on the host, where each operation is rounded. XLA fuses product and sum, and may miss a 0."""
    first, last = np.array([start, stop], dtype)
    spaced = first + (last - first) / dtype(count - 1) * np.arange(count).astype(dtype)
    spaced[-1] = last
    return spaced


# ---------------------------------------------------------------------------------------------------------------------
# From indices


def _one_hot_aval(indices, on_value, off_value, depth, axis):
    require(indices, ("uint8", "int8", *INDEX), "TI")
    for what, value in (("on_value", on_value), ("off_value", off_value)):
        if value.ndim:
            raise invalid(f"{what} must be a scalar, but got: {plain(value.shape)}: give one number for all classes.")
    if depth < 0:
        raise invalid(f"depth must be non-negative, got: {depth}")
    if not -1 <= axis <= indices.ndim:
        raise invalid(f"Expected axis to be -1 or between [0, {indices.ndim + 1}).  But received: {axis}")
    axis = indices.ndim if axis == -1 else axis
    return aval((*indices.shape[:axis], depth, *indices.shape[axis:]), on_value.dtype)


@op(
    "OneHot", infer=_one_hot_aval, mixed=True, strings=True, flops=0, default_name="one_hot",
    instead="try a soft choice, tf.nn.softmax",
)  # fmt: skip
def _one_hot(indices, on_value, off_value, *, depth, axis):
    axis = indices.ndim if axis == -1 else axis
    indices = jnp.expand_dims(indices.astype(jnp.int64), axis)
    shape = (*indices.shape[:axis], depth, *indices.shape[axis + 1 :])
    return jnp.where(lax.broadcasted_iota(jnp.int64, shape, axis) == indices, on_value, off_value)


not_differentiable(_one_hot, because="its inputs are class numbers: TensorFlow gives on_value and off_value none either")


@public
def one_hot(indices, depth, on_value=None, off_value=None, axis=None, dtype=None, name=None) -> Tensor:
    """Return a vector of `depth` elements for each class number in `indices`: `on_value` (1) at that position, `off_value` (0)
    elsewhere.

    The vectors lie along `axis`, the last by default: shape `indices.shape + [depth]`. The dtype is that of the values, or
    float32. A number outside of [0, depth) gives `off_value` everywhere.

    >>> tf.one_hot([1, 0], depth=3).numpy().tolist()
    [[0.0, 1.0, 0.0], [1.0, 0.0, 0.0]]
    """
    dtype = None if dtype is None else dtypes.as_dtype(dtype)
    on, off = [None if value is None else tensor(value, hint=dtype) for value in (on_value, off_value)]
    for what, value in (("on_value", on), ("off_value", off)):
        if value is not None and dtype is not None and value.dtype is not dtype:
            raise TypeError(f"dtype {value.dtype!r} of {what} does not match dtype parameter {dtype!r}")
    if on is not None and off is not None and on.dtype is not off.dtype:
        raise TypeError(f"dtype {on.dtype!r} of on_value does not match dtype {off.dtype!r} of off_value")
    if dtype is None:
        dtype = next((value.dtype for value in (on, off) if value is not None), dtypes.float32)
    on = tensor(1, dtype) if on is None else on
    off = tensor(0, dtype) if off is None else off
    axis = -1 if axis is None else static(axis, "axis")
    indices = tensor(indices, "int32" if isinstance(indices, list) and not indices else None)
    return _one_hot(indices, on, off, depth=static(depth, "depth"), axis=axis)


@op(
    "SequenceMask", infer=lambda lengths, maxlen, dtype: aval((*lengths.shape, maxlen), dtype), flops=0, traits="own",
    instead="try a soft mask, tf.sigmoid(x - i) at each place i",
)  # fmt: skip
def _sequence_mask(lengths, *, maxlen, dtype):
    lengths = lengths[..., None]
    shape = (*lengths.shape[:-1], maxlen)
    return (lax.broadcasted_iota(lengths.dtype, shape, len(shape) - 1) < lengths).astype(dtype)


not_differentiable(_sequence_mask, because="a mask is piecewise constant")


@public
def sequence_mask(lengths, maxlen=None, dtype=dtypes.bool, name=None) -> Tensor:
    """Return a row of `maxlen` elements (the greatest length) for each length n in `lengths`: n times true (1), then false (0).

    >>> tf.sequence_mask([1, 3], maxlen=3).numpy().tolist()
    [[True, False, False], [True, True, True]]
    """
    lengths = tensor(lengths)
    if maxlen is None:
        longest = math.ceil(to_numpy(lengths.node).max(initial=0))
    else:
        given = tensor(maxlen)
        if given.ndim:
            raise ValueError(
                f"Argument `maxlen` must be scalar for sequence_mask, received `maxlen` = {given.numpy()} with shape "
                f"'{given.shape}' instead"
            )
        longest = static(given, "maxlen")
        if longest < 0:
            raise invalid_for("Range", f"Requires start <= limit when delta > 0: 0/{longest}. maxlen must not be negative.")
        lengths = cast(lengths, given.dtype)
    return _sequence_mask(lengths, maxlen=longest, dtype=dtypes.as_dtype(dtype).numpy)


@public
def meshgrid(*args, **kwargs):
    """Return the coordinates on the grid that vectors x, y, … span: a list of tensors, each with one axis per vector.

    `indexing="xy"` (Cartesian, the default) swaps the first two axes, `indexing="ij"` (matrix) does not.

    >>> xs, ys = tf.meshgrid([1, 2], [3, 4, 5])
    >>> xs.shape, ys.numpy().tolist()
    (TensorShape([3, 2]), [[3, 3], [4, 4], [5, 5]])
    """
    indexing = kwargs.pop("indexing", "xy")
    kwargs.pop("name", None)
    if kwargs:
        raise TypeError(f"'{next(iter(kwargs))}' is an invalid keyword argument for this function")
    if indexing not in ("xy", "ij"):
        raise ValueError(f"Argument `indexing` parameter must be either 'xy' or 'ij', got '{indexing}'")
    vectors = [tensor(x) for x in args]
    for i, x in enumerate(vectors):
        if x.dtype is not vectors[0].dtype:
            raise invalid_dtype(
                f"cannot compute Mul as input #1(zero-based) was expected to be a {x.dtype.name} tensor but is a "
                f"{vectors[0].dtype.name} tensor: meshgrid takes vectors of one dtype, vector {i} has another."
            )
    places = list(range(len(vectors)))
    if indexing == "xy" and len(vectors) > 1:
        places[:2] = 1, 0
    sizes = [x.node.aval.size for x in vectors]
    shape = tuple([sizes[place] for place in places])
    columns = [tuple([size if axis == place else 1 for axis in places]) for place, size in enumerate(sizes)]
    return [_broadcast_to(_reshape(x, shape=column), shape=shape) for x, column in zip(vectors, columns, strict=True)]


# ---------------------------------------------------------------------------------------------------------------------
# Places in a shape


def _outside_dims(indices, dims):
    size, most = math.prod(dims), np.iinfo(indices.dtype).max
    more = f"{plain(dims)} have more elements than {indices.dtype} can count"
    yield size > most, f"Input dims product is causing integer overflow: {more}"
    outside = indices >= min(size, most)
    yield outside, lambda: f"index is out of bound as with dims: {indices.max()} is not below {size}, the size of {plain(dims)}"


def _coordinates(indices, dims):
    require(indices, ("int32", "int64"), "Tidx")
    if indices.ndim > 1:
        raise invalid(f"The indices can only be scalar or vector, got {plain(indices.shape)}: flatten them.")
    return aval((len(dims), *indices.shape), indices.dtype)


@op("UnravelIndex", infer=_coordinates, refuses=_outside_dims, flops=0)
def _unravel_index(indices, *, dims):
    coordinates = []
    for extent in reversed(dims[1:]):
        coordinates.append(lax.rem(indices, jnp.array(extent, indices.dtype)))
        indices = lax.div(indices, jnp.array(extent, indices.dtype))
    return jnp.stack([indices, *reversed(coordinates)])


not_differentiable(_unravel_index, because="its inputs and results are integers: places, not values")


@public
def unravel_index(indices, dims, name=None):
    """Return the coordinates of the elements with the flat indices `indices` in an array of shape `dims`: shape [rank, …].

    >>> tf.unravel_index([5], [2, 3]).numpy().tolist()
    [[1], [2]]
    """
    indices, dims = index_operands(indices, dims)
    extents = static_vector(dims, "dims")
    if 0 in extents:
        raise invalid(f"Input dims cannot contain a dim of zero, but dims contains zero at index {extents.index(0)}.")
    return _unravel_index(indices, dims=extents)
