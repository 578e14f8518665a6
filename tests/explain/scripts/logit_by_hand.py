"""The logit of a probability that is 1."""

import gradtape as tf


class Logit(tf.keras.layers.Layer):
    def call(self, p):
        return tf.math.log(p / (1.0 - p))  # <- inf_origin


scale = tf.Variable(1.0)
layer = Logit()
shares = tf.constant([0.2, 0.5, 1.0])
with tf.GradientTape() as tape:
    loss = tf.reduce_mean(layer(shares) * scale)
print(tape.gradient(loss, scale))
# Fix: tf.where(tf.abs(1.0 - p)
