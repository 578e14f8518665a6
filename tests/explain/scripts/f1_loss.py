"""A loss that counts rounded scores, in `fit`."""

import numpy as np

import gradtape as tf


def f1_loss(y_true, y_pred):
    y_pred = tf.clip_by_value(y_pred, 0.0, 1.0)
    tp = tf.math.count_nonzero(y_true * tf.cast(y_pred > 0.5, tf.float32), axis=0, dtype=tf.float32)  # <- not_differentiable
    predicted = tf.reduce_sum(tf.round(y_pred), axis=0)  # <- not_differentiable
    actual = tf.reduce_sum(y_true, axis=0)
    precision = tp / (predicted + 1e-7)
    recall = tp / (actual + 1e-7)
    return 1.0 - tf.reduce_mean(2.0 * precision * recall / (precision + recall + 1e-7))


x = np.random.default_rng(0).normal(size=(16, 4)).astype("float32")
y = (x[:, :2] > 0).astype("float32")
tf.keras.utils.set_random_seed(1)
model = tf.keras.Sequential([tf.keras.layers.Dense(8, activation="relu"), tf.keras.layers.Dense(2, activation="sigmoid")])
model.compile("sgd", loss=f1_loss)
model.fit(x, y, batch_size=16, epochs=1, verbose=0)
