"""The penalty of a critic that is flat at the start."""

import numpy as np

import gradtape as tf


class Critic(tf.keras.Model):
    def __init__(self):
        super().__init__()
        self.net = tf.keras.layers.Dense(1, kernel_initializer="zeros")

    def call(self, x):
        return self.net(x)

    def train_step(self, real):
        with tf.GradientTape() as tape:
            with tf.GradientTape() as inner:
                inner.watch(real)
                scores = self.net(real)
            slopes = inner.gradient(scores, real)
            norms = tf.sqrt(tf.reduce_sum(tf.square(slopes), axis=1))  # <- nan_origin
            loss = tf.reduce_mean((norms - 1.0) ** 2) - tf.reduce_mean(scores)
        gradients = tape.gradient(loss, self.trainable_variables)
        self.optimizer.apply_gradients(zip(gradients, self.trainable_variables, strict=True))
        return {"loss": loss}


model = Critic()
model.compile(optimizer="sgd")
model.fit(np.ones((4, 2), "float32"), epochs=1, verbose=0)
