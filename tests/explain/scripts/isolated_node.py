"""A graph network that takes the mean of the neighbors; one node has none."""

import gradtape as tf

sources, targets = tf.constant([0, 1, 1, 2]), tf.constant([1, 0, 2, 0])
features = tf.random.normal([4, 3])


class MeanOfNeighbors(tf.keras.layers.Layer):
    def __init__(self, units):
        super().__init__()
        self.dense = tf.keras.layers.Dense(units, activation="tanh")

    def call(self, nodes):
        messages = tf.gather(self.dense(nodes), sources)
        total = tf.math.unsorted_segment_sum(messages, targets, len(nodes))
        degree = tf.math.unsorted_segment_sum(tf.ones([len(sources), 1]), targets, len(nodes))
        return total / degree  # <- nan_origin


layer = MeanOfNeighbors(2)
optimizer = tf.keras.optimizers.SGD(0.1)
for _ in range(2):
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean(layer(features) ** 2)
    optimizer.apply_gradients(zip(tape.gradient(loss, layer.trainable_variables), layer.trainable_variables, strict=True))
