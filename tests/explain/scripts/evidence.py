"""Evidential classification: the evidence of a class may be zero."""

import numpy as np

import gradtape as tf

tf.keras.utils.set_random_seed(3)


def evidential_loss(labels, evidence):
    total = tf.reduce_sum(evidence, axis=-1, keepdims=True)
    return tf.reduce_mean(labels * (tf.math.log(total) - tf.math.log(evidence)))  # <- nan_origin


model = tf.keras.Sequential([tf.keras.layers.Dense(3, activation="relu")])
model.compile(optimizer="sgd", loss=evidential_loss)
x = np.random.default_rng(0).normal(size=(16, 4)).astype("float32")
y = np.eye(3, dtype="float32")[np.arange(16) % 3]
model.fit(x, y, epochs=1, verbose=0)
