"""Binary units that fire with the probability of a sigmoid."""

import gradtape as tf


class Stochastic(tf.keras.layers.Layer):
    def __init__(self, units):
        super().__init__()
        self.dense = tf.keras.layers.Dense(units)

    def call(self, x):
        p = tf.sigmoid(self.dense(x))
        return tf.cast(tf.random.uniform(tf.shape(p)) < p, tf.float32)  # <- not_differentiable


layer, out = Stochastic(4), tf.keras.layers.Dense(1)
layer.dense.build((None, 3)), out.build((None, 4))


@tf.function
def train(x, y):
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean((out(layer(x)) - y) ** 2)
    return tape.gradient(loss, layer.dense.trainable_variables)


train(tf.ones([5, 3]), tf.ones([5, 1]))
# Advice: a soft step
