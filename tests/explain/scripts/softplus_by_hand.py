"""A positive scale by log(1 + exp)."""

import numpy as np

import gradtape as tf


class Scale(tf.keras.Model):
    def __init__(self):
        super().__init__()
        self.dense = tf.keras.layers.Dense(1)

    def call(self, x):
        raw = self.dense(x)
        return tf.math.log(1.0 + tf.exp(raw))  # <- nan_origin

    def train_step(self, data):
        x, y = data
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean((self(x) - y) ** 2)
        gradients = tape.gradient(loss, self.trainable_variables)
        self.optimizer.apply_gradients(zip(gradients, self.trainable_variables, strict=True))
        return {"loss": loss}


model = Scale()
model.dense.build((None, 2))
model.dense.set_weights([np.ones((2, 1)), np.zeros(1)])
model.compile(optimizer="sgd")
model.fit(np.full((4, 2), 80.0, "float32"), np.ones((4, 1), "float32"), epochs=1, verbose=0)
# Fix: tf.math.softplus(raw)
