"""Selection by index, condition or order."""

from keras.src.backend.common.backend_utils import vectorize_impl

import gradtape as tf
from gradtape._src.ops.array.gather import take as gathered
from gradtape._src.ops.numpy.search import as_indices
from gradtape._src.ops.numpy.selection import taken_along
from keras_gradtape.src.ops._numpy.bound import bound
from keras_gradtape.src.ops._numpy.promotion import canonical, tensor

# By condition


def where(condition, x1=None, x2=None):
    return nonzero(condition) if x1 is None and x2 is None else bound.where(condition, x1, x2)


def nonzero(x):
    x = tensor(x)
    if x.ndim == 0:
        raise ValueError("`nonzero` takes tensors of at least one dimension. Received a scalar.")
    return tuple(bound.nonzero(x))


# By index


def take(x, indices, axis=None):
    if isinstance(indices, tf.RaggedTensor):
        return tf.ragged.map_flat_values(lambda flat: take(x, flat, axis), indices)
    x = tensor(x)
    if axis is None:
        x, axis = bound.ravel(x), 0
    axis = canonical(axis, x.ndim)
    return gathered(x, as_indices(tensor(indices)), axis)


def take_along_axis(x, indices, axis=None):
    x, indices = tensor(x), tensor(indices)
    if axis is None:
        if indices.ndim != 1:
            raise ValueError(f"`indices` must be 1D if axis=None. Received: indices.shape={tuple(indices.shape)}")
        x, axis = bound.ravel(x), 0
    rank = x.ndim
    axis = canonical(axis, rank)
    if indices.ndim != rank:
        raise ValueError(
            f"`x` and `indices` must have one rank. Received: x.shape={tuple(x.shape)}, indices.shape={tuple(indices.shape)}"
        )
    return taken_along(x, as_indices(indices), axis)


def argpartition(x, kth, axis=-1):
    # A sorted array is partitioned at any index.
    return bound.argsort(x, axis)


def vectorize(pyfunc, *, excluded=None, signature=None):
    return vectorize_impl(pyfunc, _vectorized, excluded=excluded, signature=signature)


def _vectorized(function, in_axes):
    """Vectorise `function` over the first axis of those arguments for which `in_axes` has 0."""

    def call(*args):
        mapped = [arg for arg, axis in zip(args, in_axes, strict=True) if axis is not None]

        def one(elements):
            elements = iter(elements)
            return function(*[arg if axis is None else next(elements) for arg, axis in zip(args, in_axes, strict=True)])

        return tf.vectorized_map(one, tuple(mapped))

    return call
