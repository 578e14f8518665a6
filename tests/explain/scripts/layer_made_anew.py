"""A block makes its projection anew in each call."""

import gradtape as tf


class Block(tf.keras.Model):
    def __init__(self, units):
        super().__init__()
        self.units = units
        self.project = tf.keras.layers.Dense(units)
        self.out = tf.keras.layers.Dense(1)

    def build(self, shape):
        self.project.build(shape)
        self.out.build((None, self.units))

    def call(self, x):
        h = tf.keras.layers.Dense(self.units, activation="relu")(x)  # <- wrong_object
        return self.out(h)


block = Block(4)
block.build((None, 3))
x, y = tf.random.normal([6, 3], seed=2), tf.ones([6, 1])
for _ in range(2):
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean((block(x) - y) ** 2)
    grads = tape.gradient(loss, block.project.trainable_variables)
# Advice: once and before the tape
