"""The functions of `keras.ops.linalg`."""

import jax
import numpy as np
from keras.src import tree
from keras.src.backend import config
from keras.src.backend.common import dtypes, standardize_dtype

import gradtape as tf
from gradtape._src.core.tensors.tensor import extents_of
from keras_gradtape.src.ops.core import cast, convert_to_tensor, of_tensor

det = of_tensor(tf.linalg.det)
eig = of_tensor(tf.linalg.eig)
eigh = of_tensor(tf.linalg.eigh)
inv = of_tensor(tf.linalg.inv)


def cholesky(a, upper=False):
    # The factor of a matrix that is not positive definite is NaN
    lower = tf.debugging.check_numerics(tf.linalg.cholesky(convert_to_tensor(a)), "Cholesky")
    return tf.linalg.adjoint(lower) if upper else lower


def cholesky_inverse(a, upper=False):
    a = convert_to_tensor(a)
    lower = tf.linalg.adjoint(a) if upper else a
    return tf.linalg.cholesky_solve(lower, tf.eye(extents_of(a)[-1], batch_shape=extents_of(a)[:-2], dtype=a.dtype))


def lu_factor(x):
    # tf.linalg.lu supports square matrices only, and has no gradient
    return tf.jax_function(_lu_factor)(convert_to_tensor(x))


def _lu_factor(x):
    factor = jax.scipy.linalg.lu_factor
    for _ in range(x.ndim - 2):
        factor = jax.vmap(factor)
    return factor(x)


def norm(x, ord=None, axis=None, keepdims=False):
    x = convert_to_tensor(x)
    if not (x.dtype.is_floating or x.dtype.is_complex):
        name = standardize_dtype(x.dtype)
        x = cast(x, config.floatx() if name == "int64" else dtypes.result_type(name, float))
    rank = x.ndim
    if axis is None:
        if ord is not None and rank not in (1, 2):
            raise ValueError(f"Improper number of dimensions to norm: ord={ord} needs a vector or a matrix, received {x.shape}.")
        axis = tuple(range(rank))
    axis = (axis,) if isinstance(axis, int) else tuple(axis)
    if any(not -rank <= a < rank for a in axis):
        raise ValueError(f"Axes of norm must be in [-{rank}, {rank}) for an input of shape {x.shape}. Received: axis={axis}")
    axis = tuple(a % rank for a in axis)
    if ord is None:
        return _root_of_squares(x, axis, keepdims)
    if len(axis) == 1:
        return _vector_norm(x, ord, axis[0], keepdims)
    if len(axis) == 2:
        return _matrix_norm(x, ord, axis, keepdims)
    raise ValueError(f"Improper number of axes to norm: ord={ord} needs one or two. Received: axis={axis}")


def _root_of_squares(x, axis, keepdims):
    return tf.math.reduce_euclidean_norm(tf.abs(x) if x.dtype.is_complex else x, axis, keepdims)


def _vector_norm(x, ord, axis, keepdims):
    if isinstance(ord, str):
        raise ValueError(f"Invalid `ord` argument for vector norm. Received: ord={ord}")
    size = tf.abs(x)
    if ord == float("inf"):
        return tf.reduce_max(size, axis, keepdims)
    if ord == -float("inf"):
        return tf.reduce_min(size, axis, keepdims)
    if ord == 0:
        return tf.reduce_sum(tf.cast(size != 0, size.dtype), axis, keepdims)
    if ord == 1:
        return tf.reduce_sum(size, axis, keepdims)
    if ord == 2:
        return _root_of_squares(x, axis, keepdims)
    return tf.reduce_sum(size**ord, axis, keepdims) ** (1.0 / ord)


def _matrix_norm(x, ord, axis, keepdims):
    row, column = axis
    if row == column:
        raise ValueError(f"Duplicate axes given to norm: axis={axis}")
    if ord == "fro":
        return _root_of_squares(x, axis, keepdims)
    if ord in (1, -1, float("inf"), -float("inf")):
        summed, other = (row, column) if ord in (1, -1) else (column, row)
        sums = tf.reduce_sum(tf.abs(x), summed, keepdims=True)
        y = (tf.reduce_max if ord > 0 else tf.reduce_min)(sums, other, keepdims=True)
        return y if keepdims else tf.squeeze(y, axis)
    if ord not in ("nuc", 2, -2):
        raise ValueError(f"Invalid `ord` argument for matrix norm. Received: ord={ord}")
    others = [a for a in range(x.ndim) if a not in axis]
    values = tf.linalg.svd(tf.transpose(x, [*others, row, column]), compute_uv=False)
    y = {"nuc": tf.reduce_sum, 2: tf.reduce_max, -2: tf.reduce_min}[ord](values, -1)
    return tf.reshape(y, [1 if a in axis else n for a, n in enumerate(extents_of(x))]) if keepdims else y


def qr(x, mode="reduced"):
    if mode not in {"reduced", "complete"}:
        raise ValueError(f"`mode` argument value not supported. Expected one of {{'reduced', 'complete'}}. Received: mode={mode}")
    return tf.linalg.qr(convert_to_tensor(x), mode == "complete")


def _solved(solve, a, b):
    """Return `solve(a, b)`, where `b` is matrices, or vectors, one for each matrix of `a`."""
    vectors = b.ndim == a.ndim - 1
    x = solve(a, tf.expand_dims(b, -1) if vectors else b)
    return tf.squeeze(x, -1) if vectors else x


def solve(a, b):
    return _solved(tf.linalg.solve, convert_to_tensor(a), convert_to_tensor(b))


def solve_triangular(a, b, lower=False):
    return _solved(lambda a, b: tf.linalg.triangular_solve(a, b, lower), convert_to_tensor(a), convert_to_tensor(b))


def svd(x, full_matrices=True, compute_uv=True):
    x = convert_to_tensor(x)
    if not compute_uv:
        return tf.linalg.svd(x, compute_uv=False)
    s, u, v = tf.linalg.svd(x, full_matrices)
    return u, s, tf.linalg.adjoint(v)


def lstsq(a, b, rcond=None):
    a, b = convert_to_tensor(a), convert_to_tensor(b)
    if a.ndim != 2 or b.ndim not in (1, 2) or a.shape[0] != b.shape[0]:
        raise ValueError(
            f"`lstsq` takes a matrix [m, n] and a right hand side [m] or [m, k]. Received: a.shape={a.shape}, b.shape={b.shape}"
        )
    if rcond is None:
        rcond = _epsilon(a) * max(a.shape)
    elif rcond < 0:
        rcond = _epsilon(a)
    return _solved(lambda a, b: pinv(a, rcond) @ b, a, b)


def _epsilon(x):
    return float(np.finfo(x.dtype.as_numpy_dtype).eps)


def matrix_rank(x, tol=None):
    return cast(tf.linalg.matrix_rank(_matrices(x), tol), "int32")


def pinv(x, rcond=None):
    return tf.linalg.pinv(_matrices(x), rcond)


def _matrices(x):
    x = convert_to_tensor(x)
    if x.ndim < 2:
        raise ValueError(f"Expected input to have rank >= 2. Received input with shape {x.shape}.")
    return x


def jvp(fun, primals, tangents, has_aux=False):
    primals = tree.map_structure(convert_to_tensor, primals)
    tangents = tree.map_structure(lambda t, p: convert_to_tensor(t, p.dtype), tangents, primals)
    with tf.autodiff.ForwardAccumulator(tree.flatten(primals), tree.flatten(tangents)) as accumulator:
        results = fun(*primals)
    results, *aux = results if has_aux else (results,)
    moved = [accumulator.jvp(y, unconnected_gradients="zero") for y in tree.flatten(results)]
    return results, tree.pack_sequence_as(results, moved), *aux
