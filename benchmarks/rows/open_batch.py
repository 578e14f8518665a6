"""A function with `input_signature` [None, 4], called with another number of rows each time."""

import numpy as np

KEY = "ob"
TITLE = "function with input_signature [None, 4], value and gradient: another number of rows in every call"
MEASURE = "time per step"
STEPS_DEPEND = True
CHECKED_STEPS = 2
STEPS, REPETITIONS = 50, 5
TOLERANCE = 1e-4
TARGETS = {"tensorflow_function": 1.0}


def start():
    """Return rows to cut batches from, and weights."""
    random = np.random.default_rng(0)
    return random.standard_normal((4096, 4)).astype("float32"), random.standard_normal((4, 8)).astype("float32")


def step_on(tf):
    data, weights = start()
    weights, numbers = tf.Variable(weights), iter(range(1, len(data)))

    @tf.function(input_signature=[tf.TensorSpec([None, 4], tf.float32)])
    def gradient(x):
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean(tf.nn.relu(tf.matmul(x, weights)) ** 2)
        return loss, tape.gradient(loss, weights)

    return lambda: gradient(tf.constant(data[: next(numbers)]))


def gradtape():
    import gradtape as tf

    return step_on(tf)


def tensorflow_function():
    import tensorflow as tf

    return step_on(tf)
