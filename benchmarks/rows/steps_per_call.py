"""Forty training steps in one call of a function that takes its batches from an iterator, or loops over the Dataset."""

import numpy as np

KEY = "ji"
TITLE = "a call of 40 training steps on an iterator: MLP 20→64→5, batches of 32"
MEASURE = "time per step"
STEPS_DEPEND = True
CHECKED_STEPS = 2
TOLERANCE = 1e-4
TARGETS = {"gradtape_dataset": 1.2}
COUNTED = False

STEPS, ROWS, BATCH, RATE = 40, 640, 32, 0.05


def start():
    """Return the rows, the labels, and the weights."""
    random = np.random.default_rng(0)
    rows = random.standard_normal((ROWS, 20)).astype("float32")
    weights = [(0.3 * random.standard_normal(shape)).astype("float32") for shape in ((20, 64), (64, 5))]
    return rows, random.integers(0, 5, ROWS), weights


def sides(tf):
    """Return the call with an iterator and that with a Dataset, for the same steps."""
    rows, labels, weights = start()
    weights = [tf.Variable(weight) for weight in weights]
    batches = tf.data.Dataset.from_tensor_slices((rows, labels)).repeat().batch(BATCH, drop_remainder=True)
    iterator, taken, count = iter(batches), batches.take(STEPS), tf.constant(STEPS)

    def step(x, y):
        with tf.GradientTape() as tape:
            scores = tf.matmul(tf.nn.relu(tf.matmul(x, weights[0])), weights[1])
            loss = tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(y, scores))
        for weight, gradient in zip(weights, tape.gradient(loss, weights), strict=True):
            weight.assign_sub(RATE * gradient)
        return loss

    @tf.function
    def on_iterator(iterator, count):
        loss = tf.constant(0.0)
        for _ in tf.range(count):
            x, y = next(iterator)
            loss = step(x, y)
        return loss

    @tf.function
    def on_dataset(dataset):
        loss = tf.constant(0.0)
        for x, y in dataset:
            loss = step(x, y)
        return loss

    return lambda: on_iterator(iterator, count), lambda: on_dataset(taken)


def gradtape():
    import gradtape as tf

    return sides(tf)[0]


def gradtape_dataset():
    import gradtape as tf

    return sides(tf)[1]


def tensorflow_function():
    import tensorflow as tf

    return sides(tf)[0]
