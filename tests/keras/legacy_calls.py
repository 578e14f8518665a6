"""Calls of the classic functions of `tf.keras.backend`. Run as a script with TensorFlow, it prints what they give there."""

import json

import numpy as np

X = np.array([[0.5, -1.2, 2.0], [1.5, 0.3, -0.7]], "float32")
P = np.array([[0.2, 0.5, 0.3], [0.6, 0.3, 0.1]], "float32")
T = np.array([[0.0, 1.0, 0.0], [1.0, 0.0, 0.0]], "float32")
IMAGE = np.arange(32, dtype="float32").reshape(1, 4, 4, 2) / 10
KERNEL = np.arange(36, dtype="float32").reshape(3, 3, 2, 2) / 30
CUBE = np.arange(24, dtype="float32").reshape(2, 3, 4) / 10

ON_X = """
    abs argmax argmin elu exp flatten hard_sigmoid int_shape max mean min ndim ones_like prod relu round
    sigmoid sign softmax softplus softsign square std sum tanh var zeros_like sin cos transpose l2_normalize
""".split()

CALLS = {name: f"K.{name}(x)" for name in ON_X} | {
    "all": "K.all(x > 0, axis=1)",
    "any": "K.any(x > 0, axis=0)",
    "arange": "K.arange(2, 11, 3)",
    "batch_dot": "K.batch_dot(cube, K.permute_dimensions(cube, (0, 2, 1)), axes=(2, 1))",
    "batch_flatten": "K.batch_flatten(cube)",
    "bias_add": "K.bias_add(x, K.constant([1.0, 2.0, 3.0]))",
    "binary_crossentropy": "K.binary_crossentropy(t, p)",
    "cast": "K.cast(x, 'int32')",
    "categorical_crossentropy": "K.categorical_crossentropy(t, p)",
    "clip": "K.clip(x, -0.5, 1.0)",
    "concatenate": "K.concatenate([x, x], axis=0)",
    "conv2d": "K.conv2d(image, kernel, padding='same')",
    "conv2d_transpose": "K.conv2d_transpose(image, kernel, (1, 6, 6, 2))",
    "cumprod": "K.cumprod(x, axis=1)",
    "cumsum": "K.cumsum(x, axis=1)",
    "depthwise_conv2d": "K.depthwise_conv2d(image, kernel)",
    "dot": "K.dot(x, K.transpose(x))",
    "equal": "K.equal(x, x)",
    "expand_dims": "K.expand_dims(x, 1)",
    "eye": "K.eye(3)",
    "foldl": "K.foldl(lambda a, b: a + b, x)",
    "foldr": "K.foldr(lambda a, b: a - b, x)",
    "gather": "K.gather(x, K.constant([1, 0], 'int32'))",
    "greater": "K.greater(x, 0.0)",
    "in_top_k": "K.in_top_k(p, K.constant([1, 0], 'int32'), 1)",
    "less_equal": "K.less_equal(x, 0.3)",
    "log": "K.log(p)",
    "map_fn": "K.map_fn(lambda row: row * 2.0, x)",
    "maximum": "K.maximum(x, 0.1)",
    "minimum": "K.minimum(x, 0.1)",
    "not_equal": "K.not_equal(x, 0.3)",
    "one_hot": "K.one_hot(K.constant([2, 0], 'int32'), 3)",
    "permute_dimensions": "K.permute_dimensions(cube, (2, 0, 1))",
    "pool2d": "K.pool2d(image, (2, 2), strides=(2, 2), pool_mode='avg')",
    "pow": "K.pow(x, 3)",
    "repeat": "K.repeat(x, 2)",
    "repeat_elements": "K.repeat_elements(x, 2, 1)",
    "reshape": "K.reshape(x, (3, 2))",
    "resize_images": "K.resize_images(image, 2, 2, 'channels_last')",
    "reverse": "K.reverse(x, 1)",
    "rnn": "K.rnn(lambda i, s: (i + s[0], [i + s[0]]), cube, [K.zeros((2, 4))])[1]",
    "separable_conv2d": "K.separable_conv2d(image, kernel, K.ones((1, 1, 4, 3)))",
    "sparse_categorical_crossentropy": "K.sparse_categorical_crossentropy(K.constant([1, 0], 'int32'), p)",
    "spatial_2d_padding": "K.spatial_2d_padding(image)",
    "sqrt": "K.sqrt(x)",
    "squeeze": "K.squeeze(K.expand_dims(x, 0), 0)",
    "stack": "K.stack([x, x], axis=1)",
    "stop_gradient": "K.stop_gradient(x)",
    "switch": "K.switch(K.constant(True), x, x * 2.0)",
    "temporal_padding": "K.temporal_padding(cube)",
    "tile": "K.tile(x, (1, 2))",
    "update_add": "K.update_add(K.variable(X), K.constant(X))",
}


def result(call, tf):
    """What `call` gives, as nested lists."""
    K = tf.keras.backend
    names = {"x": X, "p": P, "t": T, "image": IMAGE, "kernel": KERNEL, "cube": CUBE}
    space = {"K": K, "X": X} | {name: tf.constant(value) for name, value in names.items()}
    value = eval(call, space)
    return np.asarray(value).tolist() if not isinstance(value, (tuple, int)) else value


if __name__ == "__main__":
    import tensorflow as tf

    rounded = {name: np.round(np.asarray(result(call, tf), "float64"), 6).tolist() for name, call in CALLS.items()}
    print(json.dumps(rounded))
