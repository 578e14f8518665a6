"""A reader of an external memory, which has one slot only at the first step."""

import gradtape as tf


class Reader(tf.keras.layers.Layer):
    def __init__(self, width):
        super().__init__()
        self.query = tf.keras.layers.Dense(width, use_bias=False)
        self.key = tf.keras.layers.Dense(width, use_bias=False)

    def call(self, state, memory):
        scores = tf.einsum("bd,bsd->bs", self.query(state), self.key(memory))
        weights = tf.nn.softmax(scores / memory.shape[-1] ** 0.5)  # <- saturated
        return tf.einsum("bs,bsd->bd", weights, memory)


def read_loss(reader, state, memory, wanted):
    return tf.reduce_mean((reader(state, memory) - wanted) ** 2)


reader = Reader(4)
state, memory, wanted = tf.random.normal([3, 5]), tf.random.normal([3, 1, 4]), tf.random.normal([3, 4])
with tf.GradientTape() as tape:
    loss = read_loss(reader, state, memory, wanted)
print(tape.gradient(loss, reader.trainable_variables))
# Advice: give the softmax an output for each class
