"""A rank correlation as a loss, by SciPy's ranks."""

import numpy as np

import gradtape as tf

model = tf.keras.Sequential([tf.keras.layers.Dense(1)])


def ranks(values):
    return np.argsort(np.argsort(values)).astype("float32")


def spearman(y_true, y_pred):
    a = tf.numpy_function(ranks, [y_true], tf.float32)
    b = tf.numpy_function(ranks, [y_pred], tf.float32)  # <- left_library
    return 6.0 * tf.reduce_sum((a - b) ** 2) / (4.0 * 15.0)


x, y = tf.random.normal([4, 3], seed=1), tf.constant([1.0, 2.0, 3.0, 4.0])
with tf.GradientTape() as tape:
    loss = spearman(y, model(x)[:, 0])
tape.gradient(loss, model.trainable_variables)
# Advice: write the function with the tf.* counterparts
