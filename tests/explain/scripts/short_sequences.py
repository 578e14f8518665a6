"""A recurrent cell by hand; the sequences of traffic have one step."""

import gradtape as tf


class Cell(tf.keras.layers.Layer):
    def __init__(self, units):
        super().__init__()
        self.units = units

    def build(self, shape):
        self.w = self.add_weight(name="w", shape=(shape[-1], self.units), initializer="glorot_uniform")
        self.u = self.add_weight(name="u", shape=(self.units, self.units), initializer="orthogonal")

    def call(self, sequence):
        state = tf.zeros([sequence.shape[0], self.units])
        for t in range(sequence.shape[1]):
            state = tf.tanh(sequence[:, t] @ self.w + state @ self.u)  # <- zero_factor
        return state


class Traffic(tf.keras.Model):
    def __init__(self):
        super().__init__()
        self.cell, self.out = Cell(4), tf.keras.layers.Dense(1)

    def call(self, x):
        return self.out(self.cell(x))


model = Traffic()
counts, next_counts = tf.random.normal([6, 1, 3]), tf.random.normal([6, 1])
with tf.GradientTape() as tape:
    loss = tf.reduce_mean((model(counts) - next_counts) ** 2)
gradients = tape.gradient(loss, model.trainable_variables)
print([float(tf.norm(g)) for g in gradients])
# Advice: give state other values than 0
