"""The distance of equal pairs, of which a bias drops out."""

import numpy as np

import gradtape as tf


class Siamese(tf.keras.Model):
    def __init__(self):
        super().__init__()
        self.encode = tf.keras.layers.Dense(3)

    def call(self, pair):
        a, b = self.encode(pair[:, 0]), self.encode(pair[:, 1])
        return tf.sqrt(tf.reduce_sum(tf.square(a - b), axis=1, keepdims=True))  # <- cancelled

    def train_step(self, data):
        x, y = data
        with tf.GradientTape() as tape:
            d = self(x, training=True)
            loss = tf.reduce_mean(y * d**2 + (1.0 - y) * tf.maximum(1.0 - d, 0.0) ** 2)
        grads = tape.gradient(loss, self.trainable_variables)
        self.optimizer.apply_gradients(zip(grads, self.trainable_variables, strict=True))
        return {"loss": loss}


pairs = np.random.default_rng(0).normal(size=(4, 2, 5)).astype("float32")
pairs[0, 1] = pairs[0, 0]
net = Siamese()
net.compile(tf.keras.optimizers.SGD(0.1))
net.fit(pairs, np.array([[1.0], [0.0], [1.0], [0.0]], "float32"), verbose=0)
# Advice: does not count
