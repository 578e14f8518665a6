"""Products of vectors and matrices, in the common dtype by NumPy's rules."""

from gradtape._src.core.errors import InvalidArgumentError, public
from gradtape._src.ops.array.rearrange import pad
from gradtape._src.ops.array.shape import reshape
from gradtape._src.ops.linalg import diagonals, matmul as _products
from gradtape._src.ops.linalg.einsum import einsum as _einsum
from gradtape._src.ops.math import arithmetic, compare
from gradtape._src.ops.math.complex import conj
from gradtape._src.ops.numpy.arrays import as_array, asarray, broadcast_arrays, diagonal, promoted
from gradtape._src.ops.numpy.reductions import sum
from gradtape._src.ops.numpy.shapes import moveaxis
from gradtape._src.ops.shapes import axis_of


@public
def matmul(x1, x2):
    """Return the matrix product; a vector is a row on the left and a column on the right. ValueError if shapes do not fit.

    >>> tf.experimental.numpy.matmul([[1, 2], [3, 4]], [1, 1]).numpy()
    array([3, 7])
    """
    x1, x2 = promoted(x1, x2)
    try:
        if x2.ndim == 1:
            return _products.tensordot(x1, x2, 1)
        if x1.ndim == 1:
            return _products.tensordot(x1, x2, [[0], [-2]])
        return _products.matmul(x1, x2)
    except InvalidArgumentError as error:
        raise ValueError(str(error)) from None


@public
def dot(a, b):
    """Return the sums of products over the last axis of `a` and the last but one of `b`, or its only one; scalars multiply.

    >>> tf.experimental.numpy.dot([1, 2], [3, 4]).numpy()
    np.int64(11)
    """
    a, b = promoted(a, b)
    if not a.ndim or not b.ndim:
        return a * b
    return _products.tensordot(a, b, [[-1], [-1 if b.ndim == 1 else -2]])


@public
def inner(a, b):
    """Return the sums of products over the last axes of two arrays; scalars multiply.

    >>> tf.experimental.numpy.inner([[1, 2], [3, 4]], [1, 1]).numpy()
    array([3, 7])
    """
    a, b = promoted(a, b)
    return a * b if not a.ndim or not b.ndim else _products.tensordot(a, b, [[-1], [-1]])


@public
def vdot(a, b):
    """Return the sum of products of all elements, those of a complex `a` conjugated.

    >>> tf.experimental.numpy.vdot([1j, 2.0], [1j, 1.0]).numpy()
    np.complex128(3+0j)
    """
    a, b = [reshape(x, [-1]) for x in promoted(a, b)]
    return dot(conj(a), b)


@public
def outer(a, b):
    """Return the product of each element of `a` with each of `b`, a matrix.

    >>> tf.experimental.numpy.outer([1, 2], [3, 4]).numpy()
    array([[3, 4],
           [6, 8]])
    """
    a, b = promoted(a, b)
    return reshape(a, [-1, 1]) * reshape(b, [-1])


@public
def tensordot(a, b, axes=2):
    """Return the sums of products over pairs of axes: so many last of `a` and first of `b`, or two lists of axes.

    >>> tf.experimental.numpy.tensordot([[1, 2]], [[3], [4]], 1).numpy()
    array([[11]])
    """
    a, b = promoted(a, b)
    return _products.tensordot(a, b, axes)


@public
def einsum(subscripts, *operands, **kwargs):
    """Return sums of products over axes named by letters. `casting` is "safe", for the common dtype, or "no".

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


@public
def cross(a, b, axisa=-1, axisb=-1, axisc=-1, axis=None):
    """Return the cross product of vectors of two or three components along an axis; of two pairs the third component alone.

    >>> tf.experimental.numpy.cross([1, 0, 0], [0, 1, 0]).numpy()
    array([0, 0, 1])
    """
    a, b = promoted(a, b)
    if axis is not None:
        axisa = axisb = axisc = axis
    a, b = moveaxis(a, axisa, -1), moveaxis(b, axisb, -1)
    flat = a.shape[-1] == b.shape[-1] == 2
    a, b = broadcast_arrays(*[pad(x, [[0, 0]] * (x.ndim - 1) + [[0, 3 - x.shape[-1]]]) for x in (a, b)])
    product = diagonals.cross(a, b)
    return product[..., 2] if flat else moveaxis(product, -1, axisc)


@public
def kron(a, b):
    """Return the Kronecker product: `b`, scaled by each element of `a`, as blocks.

    >>> tf.experimental.numpy.kron([1, 2], [1, 10]).numpy()
    array([ 1, 10,  2, 20])
    """
    a, b = promoted(a, b)
    rank = max(a.ndim, b.ndim)
    first, second = [[1] * (rank - x.ndim) + list(x.shape) for x in (a, b)]
    blocks = reshape(a, [e for extent in first for e in (extent, 1)]) * reshape(b, [e for extent in second for e in (1, extent)])
    return reshape(blocks, [m * n for m, n in zip(first, second, strict=True)])


@public
def trace(a, offset=0, axis1=0, axis2=1, dtype=None):
    """Return the sum of the diagonal `offset` of the matrices that lie in two axes.

    >>> tf.experimental.numpy.trace([[1, 2], [3, 4]]).numpy()
    np.int64(5)
    """
    x = asarray(a, dtype)
    axes = {axis_of(axis1, x.ndim, "axis1"), axis_of(axis2, x.ndim, "axis2")}
    if not offset and axes == {x.ndim - 2, x.ndim - 1}:
        return diagonals.trace(x)
    return sum(diagonal(x, offset, axis1, axis2), -1, dtype)


@public
def diff(a, n=1, axis=-1):
    """Return the differences of neighbours along an axis, `n` times over; of bools whether they differ.

    >>> tf.experimental.numpy.diff([1, 4, 9]).numpy()
    array([3, 5])
    """
    x = as_array(a)
    if not -x.ndim <= axis < x.ndim:
        raise ValueError(f"Argument `axis` (received axis={axis}) is out of bounds for input of shape {x.shape}.")
    if n < 0:
        raise ValueError(f"Argument `order` must be a non-negative integer. Received: axis={n}")
    function = compare.not_equal if x.dtype.is_bool else arithmetic.subtract
    before = (slice(None),) * (axis % x.ndim)
    for _ in range(n):
        x = function(x[(*before, slice(1, None))], x[(*before, slice(None, -1))])
    return x
