"""Products of vectors and matrices, with dtypes promoted by NumPy's rules."""

from gradtape._src.core.base.errors import InvalidArgumentError
from gradtape._src.core.base.public import public
from gradtape._src.core.tensors.tensor import extents_of
from gradtape._src.ops.array.cast import cast
from gradtape._src.ops.array.rearrange import pad, reverse
from gradtape._src.ops.array.shape import reshape
from gradtape._src.ops.linalg import diagonals, matmul as _products
from gradtape._src.ops.linalg.einsum import einsum as _einsum
from gradtape._src.ops.math import arithmetic, compare, complex, reduction
from gradtape._src.ops.math.clip import clip_by_value
from gradtape._src.ops.nn.convolution import conv1d
from gradtape._src.ops.numpy.arrays import asarray, broadcast_arrays, diagonal
from gradtape._src.ops.numpy.elements import conj
from gradtape._src.ops.numpy.pairs import multiply
from gradtape._src.ops.numpy.policy import TENSORFLOW, as_array, numpy_function, promoted
from gradtape._src.ops.numpy.reductions import sum
from gradtape._src.ops.numpy.shapes import moveaxis
from gradtape._src.ops.shapes import axis_of


@public
def matmul(x1, x2):
    """Return the matrix product; a vector is a row on the left and a column on the right. ValueError for incompatible shapes.

    >>> tf.experimental.numpy.matmul([[1, 2], [3, 4]], [1, 1]).numpy()
    array([3, 7])
    """
    x1, x2 = promoted(x1, x2)
    try:
        return rows_by_columns(x1, x2)
    except InvalidArgumentError as error:
        raise ValueError(str(error)) from None


def rows_by_columns(x1, x2):
    """Return the matrix product of two tensors of one dtype, as `matmul`."""
    if x2.ndim == 1:
        return _products.tensordot(x1, x2, 1)
    return _products.tensordot(x1, x2, [[0], [-2]]) if x1.ndim == 1 else _products.matmul(x1, x2)


def _dot(a, b):
    if not a.ndim or not b.ndim:
        return a * b
    return _products.tensordot(a, b, [[-1], [-1 if b.ndim == 1 else -2]])


@numpy_function
def dot(a, b, *, policy=TENSORFLOW):
    """Return the sum of products over the last axis of `a` and the second-to-last of `b`, or its only one. A scalar
    multiplies.

    >>> tf.experimental.numpy.dot([1, 2], [3, 4]).numpy()
    np.int64(11)
    """
    return policy.product(_dot, a, b)


@numpy_function
def inner(a, b, *, policy=TENSORFLOW):
    """Return the sum of products over the last axes of two arrays. A scalar multiplies.

    >>> tf.experimental.numpy.inner([[1, 2], [3, 4]], [1, 1]).numpy()
    array([3, 7])
    """
    return policy.product(lambda a, b: _products.tensordot(a, b, [[-1], [-1]]) if a.ndim and b.ndim else a * b, a, b)


@numpy_function
def vdot(a, b, *, policy=TENSORFLOW):
    """Return the sum of products of all elements, with a complex `a` conjugated.

    >>> tf.experimental.numpy.vdot([1j, 2.0], [1j, 1.0]).numpy()
    np.complex128(3+0j)
    """
    a, b = [reshape(policy.array(x), [-1]) for x in (a, b)]
    return dot(conj(a), b, policy=policy)


@numpy_function
def outer(a, b, *, policy=TENSORFLOW):
    """Return the product of each element of `a` with each of `b`, a matrix.

    >>> tf.experimental.numpy.outer([1, 2], [3, 4]).numpy()
    array([[3, 4],
           [6, 8]])
    """
    a, b = policy.promoted(a, b)
    return multiply(reshape(a, [-1, 1]), reshape(b, [-1]), policy=policy)


@numpy_function
def tensordot(a, b, axes=2, *, policy=TENSORFLOW):
    """Return the sum of products over pairs of axes: the last n of `a` and the first n of `b` for an int n, or two lists of
    axes.

    >>> tf.experimental.numpy.tensordot([[1, 2]], [[3], [4]], 1).numpy()
    array([[11]])
    """
    return policy.product(lambda a, b: _products.tensordot(a, b, axes), a, b)


@public
def einsum(subscripts, *operands, **kwargs):
    """Return the sum of products over axes labelled by letters. `casting` is "safe", for the common dtype, or "no".

    >>> tf.experimental.numpy.einsum("ij,j->i", [[1, 2], [3, 4]], [1, 1]).numpy()
    array([3, 7])
    """
    casting, optimize = kwargs.get("casting", "safe"), kwargs.get("optimize", False)
    if casting not in ("safe", "no"):
        raise ValueError(
            f'Invalid value for argument `casting`. Expected casting="safe" or casting="no". Received: casting={casting}'
        )
    if optimize not in (True, False, "greedy", "optimal"):
        raise ValueError(
            f'Invalid value for argument `optimize`. Expected one of {{True, "greedy", "optimal"}}. Received: optimize={optimize}'
        )
    arrays = [as_array(x) for x in operands]
    return _einsum(subscripts, *(promoted(*arrays) if casting == "safe" else arrays))


@numpy_function
def cross(a, b, axisa=-1, axisb=-1, axisc=-1, axis=None, *, policy=TENSORFLOW):
    """Return the cross product of vectors of two or three components along an axis. For vectors of two it is the third
    component.

    >>> tf.experimental.numpy.cross([1, 0, 0], [0, 1, 0]).numpy()
    array([0, 0, 1])
    """
    a, b = policy.promoted(a, b)
    if axis is not None:
        axisa = axisb = axisc = axis
    a, b = moveaxis(a, axisa, -1, policy=policy), moveaxis(b, axisb, -1, policy=policy)
    counts = extents_of(a)[-1], extents_of(b)[-1]
    if any(count not in (2, 3) for count in counts):
        raise ValueError(
            "Both `x1` and `x2` must have 2 or 3 elements along the axis of the vectors. "
            f"Received: x1.shape={tuple(a.shape)}, x2.shape={tuple(b.shape)}"
        )
    flat = counts[0] == counts[1] == 2
    a, b = broadcast_arrays(*[pad(x, [[0, 0]] * (x.ndim - 1) + [[0, 3 - extents_of(x)[-1]]]) for x in (a, b)])
    product = diagonals.cross(a, b)
    return product[..., 2] if flat else moveaxis(product, -1, axisc, policy=policy)


@numpy_function
def kron(a, b, *, policy=TENSORFLOW):
    """Return the Kronecker product: `b`, scaled by each element of `a`, as blocks.

    >>> tf.experimental.numpy.kron([1, 2], [1, 10]).numpy()
    array([ 1, 10,  2, 20])
    """
    a, b = policy.promoted(a, b)
    rank = max(a.ndim, b.ndim)
    first, second = [[1] * (rank - x.ndim) + list(extents_of(x)) for x in (a, b)]
    a = reshape(a, [e for extent in first for e in (extent, 1)])
    blocks = multiply(a, reshape(b, [e for extent in second for e in (1, extent)]), policy=policy)
    return reshape(blocks, [m * n for m, n in zip(first, second, strict=True)])


@public
def trace(a, offset=0, axis1=0, axis2=1, dtype=None):
    """Return the sum of the diagonal `offset` of the matrices in two axes.

    >>> tf.experimental.numpy.trace([[1, 2], [3, 4]]).numpy()
    np.int64(5)
    """
    x = asarray(a, dtype)
    axes = {axis_of(axis1, x.ndim, "axis1"), axis_of(axis2, x.ndim, "axis2")}
    if not offset and axes == {x.ndim - 2, x.ndim - 1}:
        return diagonals.trace(x)
    return sum(diagonal(x, offset, axis1, axis2), -1, dtype)


@numpy_function
def diff(a, n=1, axis=-1, *, policy=TENSORFLOW):
    """Return the `n`-th differences of neighbours along an axis; for bools, whether neighbours differ.

    >>> tf.experimental.numpy.diff([1, 4, 9]).numpy()
    array([3, 5])
    """
    x = policy.array(a)
    if not -x.ndim <= axis < x.ndim:
        raise ValueError(f"Argument `axis` (received axis={axis}) is out of bounds for input of shape {x.shape}.")
    if n < 0:
        raise ValueError(f"Argument `order` must be a non-negative integer. Received: axis={n}")
    function = compare.not_equal if x.dtype.is_bool else arithmetic.subtract
    before = (slice(None),) * (axis % x.ndim)
    for _ in range(n):
        x = function(x[(*before, slice(1, None))], x[(*before, slice(None, -1))])
    return x


@numpy_function
def corrcoef(x, *, policy=TENSORFLOW):
    """Return the matrix of correlation coefficients of the rows."""
    x = policy.floating(x)
    if x.ndim == 0:
        return x / x
    rows = x if x.ndim > 1 else x[None]
    rows = rows - reduction.reduce_mean(rows, -1, keepdims=True)
    products = _products.matmul(rows, rows, adjoint_b=True)
    deviation = arithmetic.sqrt(complex.real(diagonals.diag_part(products)))
    result = products / cast(deviation[:, None] * deviation, products.dtype)
    if result.dtype.is_complex:
        result = complex.complex(*[clip_by_value(part, -1.0, 1.0) for part in (complex.real(result), complex.imag(result))])
    else:
        result = clip_by_value(result, -1.0, 1.0)
    return result if x.ndim > 1 else result[0, 0]


@numpy_function
def correlate(x1, x2, mode="valid", *, policy=TENSORFLOW):
    """Return the cross-correlation of two vectors; `mode` is "full", "same" or "valid"."""
    if mode not in ("full", "same", "valid"):
        raise ValueError(f"Invalid mode: '{mode}'. Mode must be one of: 'full', 'same', 'valid'.")
    x1, x2 = policy.promoted(x1, x2)
    x1, x2 = policy.angular(x1), policy.angular(x2)
    (n,), (m,) = extents_of(x1), extents_of(x2)
    if n < m:  # swaps them, so that the longer one is the signal
        return reverse(_slid(x2, x1, mode), [0])
    return _slid(x1, x2, mode)


def _slid(signal, kernel, mode):
    """Return the cross-correlation of a `signal` with a shorter `kernel`."""
    m = extents_of(kernel)[0]
    before = {"full": m - 1, "same": m // 2, "valid": 0}[mode]
    after = {"full": m - 1, "same": m - 1 - m // 2, "valid": 0}[mode]
    padded = pad(signal, [(before, after)])
    return conv1d(padded[None, :, None], kernel[:, None, None], stride=1, padding="VALID")[0, :, 0]


@numpy_function
def trapezoid(y, x=None, dx=1.0, axis=-1, *, policy=TENSORFLOW):
    """Return the integral along an axis by the trapezoidal rule, at the points `x`, or at points `dx` apart."""
    y = policy.floating(y)
    axis = policy.axis(axis, y.ndim)
    if x is None:
        widths = dx if isinstance(dx, (int, float)) else policy.array(dx, y.dtype)
    else:
        x = policy.array(x, y.dtype)
        widths = diff(x, axis=-1 if x.ndim == 1 else axis)
        if x.ndim == 1:
            widths = reshape(widths, [-1 if a == axis else 1 for a in range(y.ndim)])
    after = (*[slice(None)] * axis, slice(1, None))
    before = (*[slice(None)] * axis, slice(None, -1))
    return reduction.reduce_sum((y[after] + y[before]) * 0.5 * widths, axis)
