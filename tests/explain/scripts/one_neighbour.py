"""Attention over the neighbours in a graph; in this graph each node has one."""

import gradtape as tf


class GraphAttention(tf.keras.layers.Layer):
    def __init__(self, units):
        super().__init__()
        self.value = tf.keras.layers.Dense(units)
        self.score = tf.keras.layers.Dense(1)

    def call(self, nodes, neighbours):
        around = tf.gather(self.value(nodes), neighbours)
        own = tf.repeat(self.value(nodes)[:, None], neighbours.shape[1], axis=1)
        alpha = tf.nn.softmax(tf.nn.leaky_relu(self.score(tf.concat([own, around], -1))), axis=1)  # <- saturated
        return tf.reduce_sum(alpha * around, axis=1)


layer = GraphAttention(4)
nodes, neighbours = tf.random.normal([5, 3]), tf.constant([[1], [2], [3], [4], [0]])
with tf.GradientTape() as tape:
    loss = tf.reduce_mean(layer(nodes, neighbours) ** 2)
print(tape.gradient(loss, layer.score.trainable_variables))
# Advice: where it weighs values
