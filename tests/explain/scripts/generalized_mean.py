"""Pooling by a generalized mean, behind a ReLU that is silent everywhere in one channel."""

import gradtape as tf


class Pool(tf.keras.layers.Layer):
    def build(self, shape):
        self.p = self.add_weight(name="p", shape=(), initializer=tf.keras.initializers.Constant(3.0))

    def call(self, maps):
        return tf.reduce_mean(maps**self.p, axis=[1, 2]) ** (1.0 / self.p)  # <- nan_origin


kernel = tf.Variable(tf.reshape([1.0, -1.0], [1, 1, 1, 2]))
pool = Pool()
photos = tf.random.uniform([2, 4, 4, 1], 0.1, 1.0)
pool(tf.ones([1, 1, 1, 2]))
with tf.GradientTape() as tape:
    features = pool(tf.nn.relu(tf.nn.conv2d(photos, kernel, 1, "SAME")))
    loss = tf.reduce_mean((features - 0.5) ** 2)
print(tape.gradient(loss, [kernel, pool.p]))
