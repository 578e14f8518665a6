"""A layer that normalizes its weights once, where it is built."""

import gradtape as tf


class Normed(tf.keras.layers.Layer):
    def build(self, shape):
        self.v = self.add_weight(name="v", shape=(shape[-1], 2), initializer="random_normal")
        self.kernel = self.v / tf.norm(self.v, axis=0)  # <- other_tape

    def call(self, x):
        return x @ self.kernel


layer = Normed()
x, y = tf.ones([3, 4]), tf.zeros([3, 2])
for _ in range(2):
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean((layer(x) - y) ** 2)
    gradients = tape.gradient(loss, layer.trainable_variables)
# Advice: compute it under tape
