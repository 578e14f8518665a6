"""Activation functions."""

import gradtape as tf
from keras_gradtape.src.ops.core import convert_to_tensor, of_tensor, shape

relu = of_tensor(tf.nn.relu)
relu6 = of_tensor(tf.nn.relu6)
tanh = of_tensor(tf.tanh)
softplus = of_tensor(tf.math.softplus)
softsign = of_tensor(tf.nn.softsign)
silu = of_tensor(tf.nn.silu)
log_sigmoid = of_tensor(tf.math.log_sigmoid)
selu = of_tensor(tf.nn.selu)


def sigmoid(x):
    x = convert_to_tensor(x)
    return _with_logits(tf.sigmoid(x), x)


def _with_logits(output, logits):
    """Return `output` with its logits attached, which cross-entropies prefer."""
    output._keras_logits = logits
    return output


def sparse_sigmoid(x):
    x = convert_to_tensor(x)
    return tf.where(x <= -1, 0.0, tf.where(x >= 1, 1.0, 0.5 * (x + 1)))  # the derivative at the edges is 0


def tanh_shrink(x):
    x = convert_to_tensor(x)
    return x - tf.tanh(x)


def soft_shrink(x, threshold=0.5):
    x = convert_to_tensor(x)
    return tf.where(x > threshold, x - threshold, tf.where(x < -threshold, x + threshold, 0.0))


def sparse_plus(x):
    x = convert_to_tensor(x)
    return tf.where(x <= -1, 0.0, tf.where(x < 1, 0.25 * tf.square(x + 1), x))


def squareplus(x, b=4):
    x = convert_to_tensor(x)
    return 0.5 * (x + tf.sqrt(tf.square(x) + b))


def leaky_relu(x, negative_slope=0.2):
    return tf.nn.leaky_relu(convert_to_tensor(x), negative_slope)


def hard_sigmoid(x):
    return tf.nn.relu6(convert_to_tensor(x) + 3) * (1 / 6)


def hard_silu(x):
    x = convert_to_tensor(x)
    return x * hard_sigmoid(x)


def elu(x, alpha=1.0):
    x = convert_to_tensor(x)
    y = tf.nn.elu(x)
    return y if alpha == 1 else tf.where(x > 0, y, alpha * y)


def gelu(x, approximate=True):
    return tf.nn.gelu(convert_to_tensor(x), approximate)


def celu(x, alpha=1.0):
    x = convert_to_tensor(x)
    return tf.nn.elu(x) if isinstance(alpha, (int, float)) and alpha == 1 else alpha * tf.nn.elu(x / alpha)


def glu(x, axis=-1):
    x = convert_to_tensor(x)
    if x.shape[axis] % 2:
        raise ValueError(f"axis size must be divisible by 2. Received: x.shape={x.shape} with axis={axis}")
    values, gates = tf.split(x, 2, axis)
    return values * tf.sigmoid(gates)


def hard_tanh(x):
    return tf.clip_by_value(convert_to_tensor(x), -1.0, 1.0)


def hard_shrink(x, threshold=0.5):
    x = convert_to_tensor(x)
    return tf.where(tf.abs(x) > threshold, x, 0.0)


def threshold(x, threshold, default_value):
    x = convert_to_tensor(x)
    return tf.where(x > threshold, x, default_value)


def _along(function, x, axis):
    """Apply `function` to `x` along `axis`; None means all axes together."""
    x = convert_to_tensor(x)
    if axis is None:
        return tf.reshape(function(tf.reshape(x, [-1]), 0), tf.shape(x))
    return function(x, axis)


def softmax(x, axis=-1):
    x = convert_to_tensor(x)
    return _with_logits(_along(tf.nn.softmax, x, axis), x)


def log_softmax(x, axis=-1):
    return _along(tf.nn.log_softmax, x, axis)


def sparsemax(x, axis=-1):
    # Martins and Astudillo, "From softmax to sparsemax", 2016, algorithm 1
    x = convert_to_tensor(x)
    descending = tf.sort(x, axis, "DESCENDING")
    total = tf.cumsum(descending, axis)
    places = [1] * x.ndim
    places[axis] = -1
    count = tf.reshape(tf.range(1, shape(x)[axis] + 1, dtype=x.dtype), places)
    support = descending - (total - 1) / count > 0
    size = tf.reduce_sum(tf.cast(support, x.dtype), axis, keepdims=True)
    # The last running sum within the support is the sum of the support
    members = tf.reduce_sum(tf.where(support, descending, 0.0), axis, keepdims=True)
    return tf.nn.relu(x - (members - 1) / size)
