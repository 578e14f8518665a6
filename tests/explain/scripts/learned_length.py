"""The length of a window is learned."""

import gradtape as tf

length = tf.Variable(3.6)
signal = tf.random.normal([10], seed=4)
with tf.GradientTape() as tape:
    steps = tf.cast(length, tf.int32)  # <- not_floating
    window = tf.sequence_mask(steps, 10, dtype=tf.float32)
    loss = tf.reduce_sum(window * signal**2)
print(tape.gradient(loss, length))
# Advice: tf.sigmoid(length - i)
