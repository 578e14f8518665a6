"""A layer whose gain is for wide inputs only."""

import gradtape as tf


class Gained(tf.keras.layers.Layer):
    def __init__(self, units):
        super().__init__()
        self.units = units

    def build(self, shape):
        self.kernel = self.add_weight(name="kernel", shape=(shape[-1], self.units))
        self.gain = self.add_weight(name="gain", shape=(self.units,), initializer="ones")

    def call(self, x):
        scale = self.gain if x.shape[-1] > 8 else 1.0  # <- branch_not_taken
        return scale * (x @ self.kernel)


model = tf.keras.Sequential([Gained(4), tf.keras.layers.Dense(1)])
x, y = tf.random.normal([5, 8]), tf.random.normal([5, 1])
model(x)


@tf.function
def step():
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean((model(x) - y) ** 2)
    return tape.gradient(loss, model.trainable_variables)


step()
# Advice: make `x.shape[-1] > 8` true
