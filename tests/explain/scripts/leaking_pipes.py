"""Sensors tell which pipes leak; the loss counts the wrong answers."""

import numpy as np

import gradtape as tf


class WrongAnswers(tf.keras.losses.Loss):
    def call(self, y_true, y_pred):
        hits = tf.math.count_nonzero(tf.equal(tf.round(y_pred), y_true), axis=-1)  # <- not_differentiable
        return 1.0 - tf.cast(hits, tf.float32)


pressures = np.random.default_rng(0).normal(size=(16, 5)).astype("float32")
leaks = (pressures[:, :1] < 0).astype("float32")
model = tf.keras.Sequential([tf.keras.layers.Dense(8, activation="relu"), tf.keras.layers.Dense(1, activation="sigmoid")])
model.compile(optimizer="adam", loss=WrongAnswers())
model.fit(pressures, leaks, batch_size=8, verbose=0)
# Advice: an accuracy only counts
