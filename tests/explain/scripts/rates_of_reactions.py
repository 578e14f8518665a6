"""Arrhenius: a network gives the barrier of each reaction, Python's math its rate."""

import math

import numpy as np

import gradtape as tf


class Kinetics(tf.keras.Model):
    def __init__(self):
        super().__init__()
        self.barrier = tf.keras.layers.Dense(1, activation="softplus")

    def call(self, x):
        return self.barrier(x)

    def train_step(self, data):
        x, rates = data
        with tf.GradientTape() as tape:
            barriers = self(x, training=True)
            predicted = [math.exp(-barriers[i, 0] / 2.5) for i in range(4)]  # <- left_library
            loss = tf.reduce_mean((tf.stack(predicted) - rates) ** 2)
        gradients = tape.gradient(loss, self.trainable_variables)
        self.optimizer.apply_gradients(zip(gradients, self.trainable_variables, strict=True))
        return {"loss": loss}


model = Kinetics()
model.compile(optimizer="sgd", run_eagerly=True)
model.fit(np.ones((4, 3), "float32"), np.full(4, 0.5, "float32"), batch_size=4, verbose=0)
