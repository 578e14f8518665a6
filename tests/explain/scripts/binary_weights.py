"""A layer with binary weights, by tf.sign."""

import gradtape as tf


class Binary(tf.keras.layers.Layer):
    def build(self, shape):
        self.w = self.add_weight(name="w", shape=(shape[-1], 2), initializer="random_normal")

    def call(self, x):
        return x @ tf.sign(self.w)  # <- piecewise_constant


model = tf.keras.Sequential([Binary()])
model.compile("sgd", "mse")
model.fit(tf.ones([4, 3]), tf.zeros([4, 2]), epochs=1, verbose=0)
