"""A threshold that only a comparison uses."""

import numpy as np

import gradtape as tf


class Binarize(tf.keras.layers.Layer):
    def build(self, shape):
        self.threshold = self.add_weight(shape=(shape[-1],), initializer="zeros", trainable=True, name="threshold")

    def call(self, x):
        return tf.where(x > self.threshold, x, tf.zeros_like(x))  # <- not_differentiable


class Net(tf.keras.Model):
    def __init__(self):
        super().__init__()
        self.cut = Binarize()
        self.out = tf.keras.layers.Dense(1)

    def call(self, x):
        return self.out(self.cut(x))

    def train_step(self, data):
        x, y = data
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean((self(x, training=True) - y) ** 2)
        grads = tape.gradient(loss, self.trainable_variables)
        self.optimizer.apply_gradients(zip(grads, self.trainable_variables, strict=True))
        return {"loss": loss}


net = Net()
net.compile(tf.keras.optimizers.SGD(0.01))
net.fit(np.random.default_rng(0).normal(size=(8, 3)).astype("float32"), np.ones((8, 1), "float32"), verbose=0)
# Advice: tf.sigmoid(x - self.threshold)
