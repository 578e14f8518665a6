"""Products of vectors and matrices, and parts of matrices."""

import functools
import re

import gradtape as tf
from keras_gradtape.src.ops._numpy.promotion import cast, floating, pair, tensor, tensors
from keras_gradtape.src.ops._numpy.rearrange import moveaxis, ravel

# Dtypes in which products of matrices are computed; others are brought to one of them, and the result back.
_PRODUCTS = {
    tf.bool: tf.int32,
    tf.int8: tf.int32,
    tf.int16: tf.int32,
    tf.uint8: tf.int32,
    tf.uint16: tf.int32,
    tf.uint32: tf.int64,
}


def _multiplied(x1, x2, product):
    """`product` of two tensors in a dtype that it can be computed in."""
    x1, x2, dtype = pair(x1, x2)
    wide = _PRODUCTS.get(dtype)
    return product(x1, x2) if wide is None else tf.cast(product(tf.cast(x1, wide), tf.cast(x2, wide)), dtype)


def matmul(x1, x2):
    if isinstance(x1, tf.SparseTensor) and not isinstance(x2, tf.SparseTensor):
        return tf.sparse.sparse_dense_matmul(x1, tensor(x2))
    first, second = tensor(x1), tensor(x2)
    x1, x2, dtype = pair(first, second)
    if dtype.is_floating and x1.ndim > 1 and x2.ndim > 1:
        return tf.matmul(x1, x2)
    if first.dtype is tf.int8 and second.dtype is tf.int8:  # summed in int32, and stays there
        x1, x2 = tf.cast(x1, tf.int32), tf.cast(x2, tf.int32)
    return _multiplied(x1, x2, _matmul)


def _matmul(x1, x2):
    vectors = x1.ndim == 1, x2.ndim == 1
    if vectors == (False, False):
        return tf.matmul(x1, x2)
    result = tf.matmul(x1[None] if vectors[0] else x1, x2[:, None] if vectors[1] else x2)
    axes = [axis for axis, vector in zip((-2, -1), vectors, strict=True) if vector]
    return tf.squeeze(result, axes)


def dot(x1, x2):
    return _multiplied(x1, x2, _dot)


def _dot(x1, x2):
    if x1.ndim == 0 or x2.ndim == 0:
        return x1 * x2
    return tf.tensordot(x1, x2, ((-1,), (-1 if x2.ndim == 1 else -2,)))


def inner(x1, x2):
    return _multiplied(x1, x2, lambda a, b: tf.tensordot(a, b, ((-1,), (-1,))) if a.ndim and b.ndim else a * b)


def vdot(x1, x2):
    x1, x2 = ravel(x1), ravel(x2)
    return dot(tf.math.conj(x1) if x1.dtype.is_complex else x1, x2)


def outer(x1, x2):
    x1, x2, dtype = pair(x1, x2)
    x1, x2 = tf.reshape(x1, (-1, 1)), tf.reshape(x2, (1, -1))
    return tf.logical_and(x1, x2) if dtype.is_bool else x1 * x2


def tensordot(x1, x2, axes=2):
    return _multiplied(x1, x2, lambda a, b: tf.tensordot(a, b, axes))


def kron(x1, x2):
    x1, x2, dtype = pair(x1, x2)
    rank = max(x1.ndim, x2.ndim)
    first, second = [(1,) * (rank - x.ndim) + tuple(x.shape) for x in (x1, x2)]
    x1 = tf.reshape(x1, [n for extent in first for n in (extent, 1)])
    x2 = tf.reshape(x2, [n for extent in second for n in (1, extent)])
    product = tf.logical_and(x1, x2) if dtype.is_bool else x1 * x2
    return tf.reshape(product, [m * n for m, n in zip(first, second, strict=True)])


def cross(x1, x2, axisa=-1, axisb=-1, axisc=-1, axis=None):
    if axis is not None:
        axisa = axisb = axisc = axis
    x1, x2, _ = pair(x1, x2)
    a, b = tf.unstack(x1, axis=axisa), tf.unstack(x2, axis=axisb)
    if not {len(a), len(b)} <= {2, 3}:
        raise ValueError(
            "Both `x1` and `x2` must have 2 or 3 elements along the axis of the vectors. "
            f"Received: x1.shape={tuple(x1.shape)}, x2.shape={tuple(x2.shape)}"
        )
    last = a[0] * b[1] - a[1] * b[0]
    if len(a) == len(b) == 2:
        return last
    zero = tf.zeros((), x1.dtype)
    a, b = [*a, zero][:3], [*b, zero][:3]
    parts = [a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], last]
    return tf.stack([tf.broadcast_to(part, last.shape) for part in parts], axisc)


# Einstein summation


def einsum(subscripts, *operands, **kwargs):
    xs = [tensor(x) for x in operands]
    if all(x.dtype is tf.int8 for x in xs):  # as in matmul
        xs = [tf.cast(x, tf.int32) for x in xs]
    xs, dtype = tensors(xs)
    wide = _PRODUCTS.get(dtype)
    equation = _with_result(subscripts.replace(" ", ""))
    return tf.einsum(equation, *xs) if wide is None else tf.cast(tf.einsum(equation, *[tf.cast(x, wide) for x in xs]), dtype)


@functools.lru_cache(maxsize=512)
def _with_result(equation):
    """An equation in which every dimension of the ellipsis that the result lacks is kept: it must be there if an input has it."""
    if "->" in equation or "..." not in equation:
        return equation
    labels = re.sub(r"[^a-zA-Z]", "", equation)
    return f"{equation}->...{''.join(sorted(label for label in set(labels) if labels.count(label) == 1))}"


# Parts of matrices


def diagonal(x, offset=0, axis1=0, axis2=1):
    x = moveaxis(x, (axis1, axis2), (-2, -1))
    rows, columns = x.shape[-2:]
    if not -rows < offset < columns:
        return tf.zeros((*x.shape[:-2], 0), x.dtype)
    return tf.linalg.diag_part(x, k=offset)


def diag(x, k=0):
    x = tensor(x)
    if x.ndim not in (1, 2):
        raise ValueError(f"`x` must be 1-D or 2-D. Received: shape={tuple(x.shape)}")
    return tf.linalg.diag(x, k=k) if x.ndim == 1 else diagonal(x, k)


def diagflat(x, k=0):
    return diag(ravel(x), k)


def trace(x, offset=0, axis1=0, axis2=1):
    x = diagonal(x, offset, axis1, axis2)
    if x.dtype in _PRODUCTS:
        x = tf.cast(x, tf.uint32 if x.dtype.is_unsigned else tf.int32)
    return tf.reduce_sum(x, -1)


def slogdet(x):
    return tuple(tf.linalg.slogdet(tensor(x)))


# Correlation


def corrcoef(x):
    x = floating(x)
    if x.ndim == 0:
        return x / x
    rows = x if x.ndim > 1 else x[None]
    rows = rows - tf.reduce_mean(rows, -1, keepdims=True)
    products = tf.matmul(rows, rows, adjoint_b=True)
    deviation = tf.sqrt(tf.math.real(tf.linalg.diag_part(products)))
    scale = cast(deviation[:, None] * deviation, products.dtype)
    result = products / scale
    if result.dtype.is_complex:
        result = tf.complex(*[tf.clip_by_value(part, -1.0, 1.0) for part in (tf.math.real(result), tf.math.imag(result))])
    else:
        result = tf.clip_by_value(result, -1.0, 1.0)
    return result if x.ndim > 1 else result[0, 0]


def correlate(x1, x2, mode="valid"):
    if mode not in ("full", "same", "valid"):
        raise ValueError(f"Invalid mode: '{mode}'. Mode must be one of: 'full', 'same', 'valid'.")
    x1, x2, dtype = pair(x1, x2)
    if not dtype.is_floating:
        dtype = tf.float64 if dtype is tf.int64 else tf.float32
        x1, x2 = tf.cast(x1, dtype), tf.cast(x2, dtype)
    (n,), (m,) = x1.shape, x2.shape
    if n < m:  # the longer one is the signal
        return tf.reverse(_slid(x2, x1, mode), [0])
    return _slid(x1, x2, mode)


def _slid(signal, kernel, mode):
    """The products of `kernel` with each window of the longer `signal`."""
    m = kernel.shape[0]
    before = {"full": m - 1, "same": m // 2, "valid": 0}[mode]
    after = {"full": m - 1, "same": m - 1 - m // 2, "valid": 0}[mode]
    padded = tf.pad(signal, [(before, after)])
    return tf.nn.conv1d(padded[None, :, None], kernel[:, None, None], stride=1, padding="VALID")[0, :, 0]
