"""Creation of arrays: from values, filled, evenly spaced, and from diagonals."""

import math

import numpy as np

from gradtape._src.core.base.public import public
from gradtape._src.core.tensors.convert import is_tensor, tensor
from gradtape._src.core.tensors.tensor import extents_of
from gradtape._src.ops.array import creation
from gradtape._src.ops.array.cast import cast
from gradtape._src.ops.array.joining import stack
from gradtape._src.ops.array.select import where
from gradtape._src.ops.array.shape import broadcast_to as _broadcast_to, ones as _ones, reshape, transpose, zeros as _zeros
from gradtape._src.ops.linalg import diagonals
from gradtape._src.ops.math import arithmetic, compare, elementary, rounding
from gradtape._src.ops.math.complex import real
from gradtape._src.ops.numpy.dtypes import default_float, result_type
from gradtape._src.ops.numpy.policy import TENSORFLOW, as_array, floating, numpy_function, promoted
from gradtape._src.ops.numpy.shapes import moveaxis


@numpy_function
def array(val, dtype=None, copy=True, ndmin=0, *, policy=TENSORFLOW):
    """Convert a value to a tensor with at least `ndmin` axes. Tensors are immutable, so `copy` has no effect.

    >>> tf.experimental.numpy.array([1, 2.5], ndmin=2).numpy()
    array([[1. , 2.5]])
    """
    if ndmin > 32:
        raise ValueError("ndmin bigger than allowable number of dimensions: 32.")
    x = policy.array(val, None if dtype is None else policy.dtype(dtype))
    return reshape(x, [1] * (ndmin - x.ndim) + list(extents_of(x))) if x.ndim < ndmin else x


@public
def asarray(a, dtype=None):
    """Convert a value to a tensor, of `dtype` if it is given.

    >>> tf.experimental.numpy.asarray([1, 2]).dtype.name
    'int64'
    """
    return as_array(a, None if dtype is None else result_type(dtype))


asanyarray = asarray


@public
def ascontiguousarray(a, dtype=None):
    """Convert a value to a tensor with at least one axis.

    >>> tf.experimental.numpy.ascontiguousarray(1.0).numpy()
    array([1.])
    """
    return array(a, dtype, ndmin=1)


@numpy_function
def copy(a, *, policy=TENSORFLOW):
    """Convert a value to a tensor, of a variable that which it has now. Tensors are immutable, so nothing is copied.

    >>> tf.experimental.numpy.copy([1, 2]).numpy()
    array([1, 2])
    """
    return tensor(policy.array(a))


@numpy_function
def zeros(shape, dtype=float, *, policy=TENSORFLOW):
    """Return zeros of a shape, float64 by default.

    >>> tf.experimental.numpy.zeros([2]).numpy()
    array([0., 0.])
    """
    return _zeros(shape, policy.dtype(dtype))


empty = zeros  # no element is left undefined


@numpy_function
def ones(shape, dtype=float, *, policy=TENSORFLOW):
    """Return ones of a shape, float64 by default.

    >>> tf.experimental.numpy.ones([2], int).numpy()
    array([1, 1])
    """
    return _ones(shape, policy.dtype(dtype))


@numpy_function
def zeros_like(a, dtype=None, *, policy=TENSORFLOW):
    """Return zeros of the shape of `a`, of its dtype or `dtype`.

    >>> tf.experimental.numpy.zeros_like([1.5, 2.5]).numpy()
    array([0., 0.])
    """
    return creation.zeros_like(policy.array(a), None if dtype is None else policy.dtype(dtype))


empty_like = zeros_like


@numpy_function
def ones_like(a, dtype=None, *, policy=TENSORFLOW):
    """Return ones of the shape of `a`, of its dtype or `dtype`.

    >>> tf.experimental.numpy.ones_like([1.5, 2.5], int).numpy()
    array([1, 1])
    """
    return creation.ones_like(policy.array(a), None if dtype is None else policy.dtype(dtype))


@public
def full(shape, fill_value, dtype=None):
    """Return `fill_value`, broadcast to a shape.

    >>> tf.experimental.numpy.full([2, 2], [1, 2]).numpy()
    array([[1, 2],
           [1, 2]])
    """
    return _broadcast_to(asarray(fill_value, dtype), _as_shape(shape))


@public
def full_like(a, fill_value, dtype=None, order="K", subok=True, shape=None):
    """Return `fill_value` in the shape of `a`, of its dtype or `dtype`. ValueError for other values of `order`, `subok` and
    `shape` than the default.

    >>> tf.experimental.numpy.full_like([1, 2], 7).numpy()
    array([7, 7])
    """
    if order != "K":
        raise ValueError("Non-standard orders are not supported.")
    if not subok:
        raise ValueError("subok being False is not supported.")
    if shape:
        raise ValueError("Overriding the shape is not supported.")
    x = as_array(a)
    return _broadcast_to(asarray(fill_value, dtype or x.dtype), extents_of(x))


@numpy_function
def broadcast_to(array, shape, *, policy=TENSORFLOW):
    """Return an array broadcast to a shape.

    >>> tf.experimental.numpy.broadcast_to([1, 2], [2, 2]).numpy()
    array([[1, 2],
           [1, 2]])
    """
    return _broadcast_to(policy.array(array), _as_shape(shape))


@numpy_function
def broadcast_arrays(*args, policy=TENSORFLOW, **kwargs):
    """Return arrays broadcast to their common shape, a list.

    >>> [x.shape.as_list() for x in tf.experimental.numpy.broadcast_arrays([1, 2], [[1], [2]])]
    [[2, 2], [2, 2]]
    """
    if kwargs.pop("subok", False):
        raise ValueError("subok=True is not supported.")
    if kwargs:
        raise ValueError(f"Received unsupported arguments {list(kwargs)}; `subok` is the only one.")
    arrays = [policy.array(a) for a in args]
    shape = np.broadcast_shapes(*[extents_of(x) for x in arrays])
    return [_broadcast_to(x, shape) for x in arrays]


def _as_shape(shape):
    if is_tensor(shape):
        return reshape(shape, [-1])
    return [shape] if isinstance(shape, (int, np.integer)) else shape


@numpy_function
def arange(start, stop=None, step=1, dtype=None, *, policy=TENSORFLOW):
    """Return the numbers from `start` up to but without `stop`, in steps of `step`. With one argument they begin at 0.

    ValueError if `step` is 0.

    >>> tf.experimental.numpy.arange(1, 7, 2).numpy()
    array([1, 3, 5])
    """
    if not is_tensor(step) and not step and step is not None:
        raise policy.refused("step must be non-zero.")
    given = [bound for bound in (start, stop, step) if bound is not None]
    wanted = policy.dtype(dtype) if dtype else policy.result_type(*given)
    low, high = (0, start) if stop is None else (start, stop)
    step = 1 if step is None else step
    if not any(map(is_tensor, given)):
        return tensor(np.arange(low, high, step).astype(wanted.as_numpy_dtype))
    if not is_tensor(step):  # the range is empty if `stop` is not ahead of `start`
        high = (arithmetic.maximum if step > 0 else arithmetic.minimum)(*promoted(low, high))
        low = as_array(low, high.dtype)
    return cast(creation.range_(low, high, step), wanted)


@public
def linspace(start, stop, num=50, endpoint=True, retstep=False, dtype=float, axis=0):
    """Return `num` evenly spaced numbers from `start` to `stop`, along a new axis; without `stop` unless `endpoint`.

    The dtype is the floating type of `start` and `stop`, as in NumPy 2. With `retstep` the result is a pair: the numbers and
    their distance.

    >>> tf.experimental.numpy.linspace(0.0, 1.0, 5).numpy()
    array([0.  , 0.25, 0.5 , 0.75, 1.  ])
    """
    if num < 0:
        raise ValueError(f"Argument `num` (number of samples) must be a non-negative integer. Received: num={num}")
    wanted = result_type(_bound(start), _bound(stop)) if dtype else None
    low, high = asarray(start, wanted), asarray(stop, wanted)
    intervals = num - 1 if endpoint else num
    step = arithmetic.truediv(high - low, tensor(intervals, low.dtype)) if intervals > 0 else tensor(math.nan)
    last = high if endpoint or num < 2 else cast(high, step.dtype) - step
    result = creation.linspace(cast(low, last.dtype), last, num, axis=axis)
    if wanted is not None:
        result = cast(result, wanted)
    return (result, step) if retstep else result


def _bound(value):
    """Convert a bound to an argument of `result_type`: a Python number to a float, an array to its floating dtype."""
    return float(value) if isinstance(value, (int, float)) else floating(value).dtype


@public
def logspace(start, stop, num=50, endpoint=True, base=10.0, dtype=None, axis=0):
    """Return `base` raised to evenly spaced powers from `start` to `stop`.

    >>> tf.experimental.numpy.logspace(0.0, 2.0, 3).numpy()
    array([  1.,  10., 100.])
    """
    exponents = linspace(start, stop, num, endpoint, axis=axis)
    return elementary.pow(tensor(base, exponents.dtype), exponents)


@public
def geomspace(start, stop, num=50, endpoint=True, dtype=None, axis=0):
    """Return `num` numbers from `start` to `stop` with a constant ratio between neighbours.

    >>> tf.experimental.numpy.geomspace(1.0, 8.0, 4).numpy().round(6)
    array([1., 2., 4., 8.])
    """
    wanted = result_type(dtype) if dtype else result_type(start, stop, float(num), default_float())
    computed = result_type(wanted, np.float32)
    low, high = as_array(start, computed), as_array(stop, computed)
    signs = [1 - arithmetic.sign(real(x)) for x in (low, high)]
    flip = cast(1 - rounding.floordiv(signs[0] * signs[1], tensor(2, signs[0].dtype)), computed)
    tenth = 1.0 / math.log(10.0)
    exponents = linspace(elementary.log(flip * low) * tenth, elementary.log(flip * high) * tenth, num, endpoint)
    result = flip * elementary.pow(tensor(10.0, exponents.dtype), exponents)
    return cast(moveaxis(result, 0, axis), wanted)


@numpy_function
def eye(N, M=None, k=0, dtype=float, *, policy=TENSORFLOW):
    """Return an N × M matrix with ones on the diagonal `k`, above the main one if positive.

    >>> tf.experimental.numpy.eye(2, 3, 1).numpy()
    array([[0., 1., 0.],
           [0., 0., 1.]])
    """
    return cast(compare.equal(_offsets(N, N if M is None else M), k), policy.dtype(dtype))


@numpy_function
def identity(n, dtype=float, *, policy=TENSORFLOW):
    """Return the identity matrix of n rows.

    >>> tf.experimental.numpy.identity(2).numpy()
    array([[1., 0.],
           [0., 1.]])
    """
    return eye(n, n, dtype=dtype, policy=policy)


def _offsets(rows, columns):
    """Return the column minus the row of each element of a matrix, in int32."""
    columns, rows = (creation.range_(cast(count, "int32")) for count in (columns, rows))
    return columns - rows[:, None]


@numpy_function
def tri(N, M=None, k=0, dtype=None, *, policy=TENSORFLOW):
    """Return an N × M matrix with ones at and below the diagonal `k`.

    >>> tf.experimental.numpy.tri(2, 3, 1, int).numpy()
    array([[1, 1, 0],
           [1, 1, 1]])
    """
    return cast(compare.less_equal(_offsets(N, N if M is None else M), k), policy.dtype(dtype))


@numpy_function
def tril(m, k=0, *, policy=TENSORFLOW):
    """Return the elements at and below the diagonal `k`, zeros above it.

    >>> tf.experimental.numpy.tril([[1, 2], [3, 4]]).numpy()
    array([[1, 0],
           [3, 4]])
    """
    return _masked(m, compare.less_equal, k, "tril", policy)


@numpy_function
def triu(m, k=0, *, policy=TENSORFLOW):
    """Return the elements at and above the diagonal `k`, zeros below it.

    >>> tf.experimental.numpy.triu([[1, 2], [3, 4]]).numpy()
    array([[1, 2],
           [0, 4]])
    """
    return _masked(m, compare.greater_equal, k, "triu", policy)


def _masked(m, kept, k, name, policy):
    x = policy.array(m)
    if x.ndim < 2:
        raise ValueError(f"Argument to {name} must have rank at least 2, received shape {x.shape}.")
    return where(kept(_offsets(*extents_of(x)[-2:]), k), x, creation.zeros_like(x))


@numpy_function
def diag(v, k=0, *, policy=TENSORFLOW):
    """Return a matrix with the vector `v` on its diagonal `k`, or the diagonal `k` of the matrix `v`.

    >>> tf.experimental.numpy.diag([1, 2]).numpy()
    array([[1, 0],
           [0, 2]])
    """
    x = policy.array(v)
    if x.ndim == 1:
        return diagonals.diag(x, k=k) if extents_of(x)[0] else _zeros([abs(k), abs(k)], x.dtype)
    if x.ndim == 2:
        return diagonal(x, k)
    raise ValueError(f"diag takes one or two axes, received shape {x.shape}.")


@numpy_function
def diagonal(a, offset=0, axis1=0, axis2=1, *, policy=TENSORFLOW):
    """Return the diagonal `offset` of the matrices in the axes `axis1` and `axis2` of `a`, along a new last axis.

    >>> tf.experimental.numpy.diagonal([[1, 2], [3, 4]]).numpy()
    array([1, 4])
    """
    x = policy.array(a)
    first, second = policy.axis(axis1, x.ndim, "axis1"), policy.axis(axis2, x.ndim, "axis2")
    x = transpose(x, [axis for axis in range(x.ndim) if axis not in (first, second)] + [first, second])
    if not -extents_of(x)[-2] < offset < extents_of(x)[-1]:
        return _zeros([*extents_of(x)[:-2], 0], x.dtype)
    return diagonals.diag_part(x, k=offset)


@numpy_function
def diagflat(v, k=0, *, policy=TENSORFLOW):
    """Return a matrix with the elements of `v`, flattened, on its diagonal `k`.

    >>> tf.experimental.numpy.diagflat([[1], [2]]).numpy()
    array([[1, 0],
           [0, 2]])
    """
    return diag(reshape(policy.array(v), [-1]), k)


@public
def diag_indices(n, ndim=2):
    """Return the indices of the diagonal of an array of `ndim` axes of length `n`, a tuple.

    >>> [x.numpy().tolist() for x in tf.experimental.numpy.diag_indices(2)]
    [[0, 1], [0, 1]]
    """
    for name, value in (("n", n), ("ndim", ndim)):
        if value < 0:
            raise ValueError(f"{name} argument to diag_indices must be nonnegative, got {value}")
    return (creation.range_(n),) * ndim


@public
def meshgrid(*xi, **kwargs):
    """Return the coordinates of a grid over vectors, a list; `indexing` is "xy" or "ij".

    >>> [x.numpy().tolist() for x in tf.experimental.numpy.meshgrid([1, 2], [3, 4])]
    [[[1, 2], [1, 2]], [[3, 3], [4, 4]]]
    """
    if kwargs.get("sparse", False):
        raise ValueError("Function `meshgrid` does not support returning sparse arrays. Received: sparse=True")
    if not kwargs.get("copy", True):
        raise ValueError("Function `meshgrid` only supports copy=True. Received: copy=False")
    return creation.meshgrid(*[as_array(x) for x in xi], indexing=kwargs.get("indexing", "xy"))


@numpy_function
def vander(x, N=None, increasing=False, *, policy=TENSORFLOW):
    """Return the powers of a vector as columns, the highest first unless `increasing`: a Vandermonde matrix.

    >>> tf.experimental.numpy.vander([2, 3], 3).numpy()
    array([[4, 2, 1],
           [9, 3, 1]])
    """
    x = policy.array(x)
    if x.ndim != 1:
        raise ValueError("x must be a one-dimensional array")
    count = extents_of(x)[0] if N is None else N
    if count < 0:
        raise ValueError("N must be nonnegative")
    powers = [creation.ones_like(x)]
    for _ in range(count - 1):
        powers.append(powers[-1] * x)
    return stack(powers if increasing else powers[::-1], 1) if count else _zeros([extents_of(x)[0], 0], x.dtype)


@public
def ix_(*args):
    """Reshape vectors of indices to arrays that broadcast to their grid. A mask is converted to the indices of its True
    elements.

    >>> [x.shape.as_list() for x in tf.experimental.numpy.ix_([0, 1], [0, 2, 3])]
    [[2, 1], [1, 3]]
    """
    found = []
    for number, given in enumerate(args):
        x = as_array(given)
        if x.ndim != 1:
            raise ValueError(f"Arguments must be 1-d, got arg {number} of rank {x.ndim}")
        if not (x.dtype.is_integer or x.dtype.is_bool):
            raise ValueError(f"Only integer and bool dtypes are supported, got {x.dtype!r}")
        x = where(x) if x.dtype.is_bool else x
        found.append(reshape(x, [-1 if axis == number else 1 for axis in range(len(args))]))
    return found
