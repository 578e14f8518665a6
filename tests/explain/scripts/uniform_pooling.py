"""Attention weights that are computed, and not used for the mean."""

import gradtape as tf


class Pool(tf.keras.layers.Layer):
    def __init__(self):
        super().__init__()
        self.score = tf.keras.layers.Dense(1)
        self.value = tf.keras.layers.Dense(3)

    def call(self, x):
        alpha = tf.nn.softmax(self.score(x), axis=1)  # noqa: F841
        values = self.value(x)
        return tf.reduce_mean(values, axis=1)


pool = Pool()
x, y = tf.random.normal([2, 4, 3], seed=12), tf.zeros([2, 3])
with tf.GradientTape() as tape:
    loss = tf.reduce_mean((pool(x) - y) ** 2)  # <- unused
grads = tape.gradient(loss, pool.trainable_variables)
# Advice: from what that gives
