"""Two losses of a persistent tape are added up in the gradient call itself."""

import numpy as np

import gradtape as tf


class Shared(tf.keras.Model):
    def __init__(self):
        super().__init__()
        self.trunk = tf.keras.layers.Dense(4, activation="tanh")
        self.heads = [tf.keras.layers.Dense(1), tf.keras.layers.Dense(1)]

    def call(self, x):
        h = self.trunk(x)
        return [head(h) for head in self.heads]

    def train_step(self, data):
        x, y = data
        with tf.GradientTape(persistent=True) as tape:
            first, second = self(x, training=True)
            one, two = tf.reduce_mean((first - y) ** 2), tf.reduce_mean(tf.abs(second - y))
        shared = tape.gradient(one + 0.5 * two, self.trunk.trainable_variables)  # <- outside_tape
        own = tape.gradient(one, self.heads[0].trainable_variables) + tape.gradient(two, self.heads[1].trainable_variables)
        variables = self.trunk.trainable_variables + self.heads[0].trainable_variables + self.heads[1].trainable_variables
        self.optimizer.apply_gradients(zip(shared + own, variables, strict=True))
        return {"one": one, "two": two}


model = Shared()
model.compile("adam")
rng = np.random.default_rng(4)
model.fit(rng.normal(size=(7, 3)).astype("float32"), rng.normal(size=(7, 1)).astype("float32"), epochs=1, verbose=0)
# Fix: target = one + 0.5 * two
