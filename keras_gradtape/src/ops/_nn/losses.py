"""Cross-entropies, and encodings of class numbers."""

import warnings

from keras.src.backend.common import standardize_dtype
from keras.src.backend.config import epsilon

import gradtape as tf
from gradtape._src.core.tensors.tensor import EagerTensor, extents_of
from keras_gradtape.src.ops.core import cast, convert_to_tensor


def one_hot(x, num_classes, axis=-1, dtype=None, sparse=False):
    x = cast(convert_to_tensor(x), "int64")
    dtype = "float32" if dtype is None else standardize_dtype(dtype)
    if sparse:
        return _sparse_one_hot(x, num_classes, axis % (x.ndim + 1), dtype)
    if dtype == "bool":
        return tf.one_hot(x, num_classes, on_value=True, off_value=False, axis=axis, dtype=dtype)
    return tf.one_hot(x, num_classes, axis=axis, dtype=dtype)


def _sparse_one_hot(x, num_classes, axis, dtype):
    """Return a SparseTensor with an element for each class number; as on TensorFlow, that of a negative number is 0."""
    places = tf.meshgrid(*[tf.range(extent, dtype="int64") for extent in extents_of(x)], indexing="ij")
    places.insert(axis, tf.maximum(x, 0))
    indices = tf.stack([tf.reshape(place, [-1]) for place in places], 1)
    shape = list(extents_of(x))
    shape.insert(axis, num_classes)
    return tf.SparseTensor(indices, tf.cast(tf.reshape(x, [-1]) >= 0, dtype), shape)


def multi_hot(x, num_classes, axis=-1, dtype=None, sparse=False):
    x = convert_to_tensor(x)
    if sparse:  # `maximum` does not support bools
        known = "float32" if dtype is None else standardize_dtype(dtype)
        encoded = one_hot(x, num_classes, axis, "int32" if known == "bool" else known, sparse)
        return tf.cast(tf.sparse.reduce_max(encoded, 1 if x.ndim > 1 else 0, output_is_sparse=True), known)
    encoded = one_hot(x, num_classes, axis, dtype)
    return (tf.reduce_any if encoded.dtype == tf.bool else tf.reduce_max)(encoded, 1 if x.ndim > 1 else 0)


def _same_shape(target, output):
    if len(target.shape) != len(output.shape):
        raise ValueError(
            "Arguments `target` and `output` must have the same rank (ndim). "
            f"Received: target.shape={target.shape}, output.shape={output.shape}"
        )
    if target.shape != output.shape:
        raise ValueError(
            "Arguments `target` and `output` must have the same shape. "
            f"Received: target.shape={target.shape}, output.shape={output.shape}"
        )


def _log_probabilities(output, axis):
    """Return the logarithm of `output`, normalized along `axis` and clipped away from 0 and 1."""
    output = output / tf.reduce_sum(output, axis, keepdims=True)
    return tf.math.log(tf.clip_by_value(output, epsilon(), 1.0 - epsilon()))


def _logits(output, from_logits, kind):
    """Return `(output, from_logits)`, or the logits from which a softmax or sigmoid (of type `kind`) computed `output`.

    This keeps precision, also of the gradient, where a probability is rounded to 0 or 1. As on TensorFlow, Keras attaches the
    logits to results of its own functions. In a function the op that computed a tensor is known.
    """
    logits = getattr(output, "_keras_logits", None)
    if logits is None and isinstance(output, EagerTensor) and not tf.executing_eagerly():
        node = output.node
        if node.inputs and node.key[0].type == kind:
            logits = EagerTensor(node.inputs[0])
    if logits is None:
        return output, from_logits
    if from_logits:
        warnings.warn(
            f"A crossentropy received `from_logits=True`, but `output` was made by a {kind} and thus does not represent "
            "logits. Was this intended?",
            stacklevel=3,
        )
    return logits, True


def categorical_crossentropy(target, output, from_logits=False, axis=-1):
    output, from_logits = _logits(convert_to_tensor(output), from_logits, "Softmax")
    target = convert_to_tensor(target, output.dtype)
    _same_shape(target, output)
    if not target.ndim:
        raise ValueError(
            "Arguments `target` and `output` must be at least rank 1. "
            f"Received: target.shape={target.shape}, output.shape={output.shape}"
        )
    if from_logits:
        return tf.nn.softmax_cross_entropy_with_logits(target, output, axis)
    return -tf.reduce_sum(target * _log_probabilities(output, axis), axis)


def sparse_categorical_crossentropy(target, output, from_logits=False, axis=-1):
    target, output = convert_to_tensor(target), convert_to_tensor(output)
    if target.dtype != tf.int32:  # int32 is not converted, and its range is checked
        target = cast(target, "int64")
    if target.ndim == output.ndim and target.shape[-1] == 1:
        target = tf.squeeze(target, -1)
    if not output.ndim:
        raise ValueError(f"Argument `output` must be at least rank 1. Received: output.shape={output.shape}")
    if target.ndim != output.ndim - 1:
        raise ValueError(
            "Argument `output` must have rank (ndim) `target.ndim - 1`. "
            f"Received: target.shape={target.shape}, output.shape={output.shape}"
        )
    if axis not in (-1, output.ndim - 1):
        classes = [i for i in range(output.ndim) if i != axis % output.ndim]
        output, axis = tf.transpose(output, [*classes, axis % output.ndim]), -1
    if target.shape != output.shape[:-1]:
        raise ValueError(
            "Arguments `target` and `output` must have the same shape up until the last dimension: "
            f"target.shape={target.shape}, output.shape={output.shape}"
        )
    output, from_logits = _logits(output, from_logits, "Softmax")
    if not from_logits:
        output = tf.math.log(tf.clip_by_value(output, epsilon(), 1.0 - epsilon()))
    return tf.nn.sparse_softmax_cross_entropy_with_logits(target, output)


def binary_crossentropy(target, output, from_logits=False):
    output, from_logits = _logits(convert_to_tensor(output), from_logits, "Sigmoid")
    target = convert_to_tensor(target, output.dtype)
    _same_shape(target, output)
    if from_logits:
        return tf.nn.sigmoid_cross_entropy_with_logits(target, output)
    output = tf.clip_by_value(output, epsilon(), 1.0 - epsilon())
    return -(target * tf.math.log(output) + (1.0 - target) * tf.math.log(1.0 - output))
