"""A batch normalization by hand without an epsilon."""

import gradtape as tf


class Norm(tf.keras.layers.Layer):
    def call(self, x):
        mean, variance = tf.nn.moments(x, axes=[0])
        return (x - mean) * tf.math.rsqrt(variance)  # <- nan_origin


model = tf.keras.Sequential([tf.keras.layers.Dense(3), Norm(), tf.keras.layers.Dense(1)])
model.compile("sgd", "mse")
model.fit(tf.ones([4, 2]), tf.ones([4, 1]), epochs=1, verbose=0)
