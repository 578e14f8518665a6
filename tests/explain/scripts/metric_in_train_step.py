"""A train step that differentiates the result of a metric."""

import numpy as np

import gradtape as tf


class Model(tf.keras.Model):
    def __init__(self):
        super().__init__()
        self.dense = tf.keras.layers.Dense(1)
        self.mean = tf.keras.metrics.Mean()

    def call(self, x):
        return self.dense(x)

    def train_step(self, data):
        x, y = data
        with tf.GradientTape() as tape:
            self.mean.update_state((self(x) - y) ** 2)  # <- state
            loss = self.mean.result()
        gradients = tape.gradient(loss, self.trainable_variables)
        self.optimizer.apply_gradients(zip(gradients, self.trainable_variables, strict=True))
        return {"loss": loss}


model = Model()
model.compile(optimizer="adam")
model.fit(np.ones((4, 2), "float32"), np.ones((4, 1), "float32"), epochs=1, verbose=0)
# Advice: keep the metric beside it
