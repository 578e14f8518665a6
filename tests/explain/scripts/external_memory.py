"""A network with a memory whose slots are written in turn."""

import gradtape as tf


class Memory(tf.keras.layers.Layer):
    def __init__(self, slots, size):
        super().__init__()
        self.write = tf.keras.layers.Dense(size, activation="tanh")
        self.query = tf.keras.layers.Dense(size)
        self.slots = tf.Variable(tf.zeros([slots, size]), trainable=False)

    def call(self, steps):
        for k in range(steps.shape[0]):
            written = self.write(steps[k : k + 1])
            self.slots[k].assign(written[0])  # <- state
        attention = tf.nn.softmax(tf.matmul(self.query(steps[-1:]), self.slots, transpose_b=True))
        return attention @ self.slots


memory = Memory(3, 4)
steps, wanted = tf.random.normal([3, 5]), tf.ones([1, 4])
memory(steps)
with tf.GradientTape() as tape:
    loss = tf.reduce_mean((memory(steps) - wanted) ** 2)
print(tape.gradient(loss, memory.write.trainable_variables))
# Advice: tf.tensor_scatter_nd_update
