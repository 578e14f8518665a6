"""Unrolled sparse coding (LISTA), whose threshold takes all."""

import gradtape as tf


class Encoder(tf.Module):
    def __init__(self, inputs, codes, threshold):
        self.dictionary = tf.Variable(tf.random.normal([inputs, codes], stddev=0.1, seed=1))
        self.threshold = threshold

    def shrink(self, x):
        return tf.nn.relu(x - self.threshold) - tf.nn.relu(-x - self.threshold)  # <- dead_relu

    def __call__(self, x, steps=2):
        code = self.shrink(x @ self.dictionary)
        for _ in range(steps):
            rest = x - code @ tf.transpose(self.dictionary)
            code = self.shrink(code + rest @ self.dictionary)
        return code


encoder = Encoder(6, 10, threshold=5.0)
decoder = tf.Variable(tf.random.normal([10, 6]))
x = tf.ones([4, 6])
with tf.GradientTape() as tape:
    loss = tf.reduce_mean((encoder(x) @ decoder - x) ** 2)
print(tape.gradient(loss, encoder.trainable_variables))
# Advice: some of `x - self.threshold` is above 0
