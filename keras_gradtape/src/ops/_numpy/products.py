"""Products of vectors and matrices, and parts of matrices."""

import functools
import re

import gradtape as tf
from gradtape._src.ops.numpy.products import rows_by_columns
from keras_gradtape.src.ops._numpy.bound import bound
from keras_gradtape.src.ops._numpy.promotion import KERAS, pair, tensor


def matmul(x1, x2):
    if isinstance(x1, tf.SparseTensor) and not isinstance(x2, tf.SparseTensor):
        return tf.sparse.sparse_dense_matmul(x1, tensor(x2))
    first, second = tensor(x1), tensor(x2)
    x1, x2, dtype = pair(first, second)
    if dtype.is_floating and x1.ndim > 1 and x2.ndim > 1:
        return tf.matmul(x1, x2)
    if first.dtype is tf.int8 and second.dtype is tf.int8:  # the sum is in int32, and so is the result
        x1, x2 = tf.cast(x1, tf.int32), tf.cast(x2, tf.int32)
    return KERAS.product(rows_by_columns, x1, x2)


# Einstein summation


def einsum(subscripts, *operands, **kwargs):
    xs = [tensor(x) for x in operands]
    if all(x.dtype is tf.int8 for x in xs):  # as in matmul
        xs = [tf.cast(x, tf.int32) for x in xs]
    return KERAS.product(functools.partial(tf.einsum, _with_result(subscripts.replace(" ", ""))), *xs)


@functools.lru_cache(maxsize=512)
def _with_result(equation):
    """Return the equation with the ellipsis in the result, so that every dimension of an input's ellipsis is kept."""
    if "->" in equation or "..." not in equation:
        return equation
    labels = re.sub(r"[^a-zA-Z]", "", equation)
    return f"{equation}->...{''.join(sorted(label for label in set(labels) if labels.count(label) == 1))}"


# Parts of matrices


def trace(x, offset=0, axis1=0, axis2=1):
    return bound.sum(bound.diagonal(x, offset, axis1, axis2), -1)


def slogdet(x):
    return tuple(tf.linalg.slogdet(tensor(x)))
