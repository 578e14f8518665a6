"""A head is switched off in the configuration of the model."""

import numpy as np

import gradtape as tf


class Model(tf.keras.Model):
    def __init__(self, config):
        super().__init__()
        self.config = config
        self.body = tf.keras.layers.Dense(4)
        self.context = tf.keras.layers.Dense(4)
        self.head = tf.keras.layers.Dense(1)

    def build(self, shape):
        self.body.build(shape)
        self.context.build(shape)
        self.head.build((None, 4))

    def call(self, x):
        h = self.body(x)
        if self.config.get("use_context", False):  # <- branch_not_taken
            h = h + self.context(x)
        return self.head(h)


model = Model({"width": 4})
model.compile(optimizer="sgd", loss="mse")
model.fit(np.ones((4, 2)), np.ones((4, 1)), epochs=1, verbose=0)
# Advice: make `self.config.get('use_context', False)` true
