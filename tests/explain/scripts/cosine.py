"""Cosine similarity with a row of zeros, in fit."""

import gradtape as tf


class Similar(tf.keras.Model):
    def __init__(self):
        super().__init__()
        self.dense = tf.keras.layers.Dense(3, use_bias=False)

    def call(self, x):
        h = self.dense(x)
        return h / tf.norm(h, axis=-1, keepdims=True)  # <- nan_origin


model = Similar()
model.compile("sgd", "mse")
model.fit(tf.constant([[1.0, 2.0], [0.0, 0.0]]), tf.ones([2, 3]), verbose=0)
