"""A mask of attention in half precision."""

import gradtape as tf

w = tf.Variable(tf.random.normal([2, 3], seed=5))


def attend(x, keep):
    scores = tf.cast(x @ w, tf.float16)
    bias = (1.0 - keep) * tf.cast(-1e9, tf.float16)  # <- nan_origin
    return tf.nn.softmax(scores + bias)


with tf.GradientTape() as tape:
    weights = attend(tf.ones([1, 2]), tf.constant([[1.0, 1.0, 0.0]], tf.float16))
    loss = tf.reduce_sum(tf.cast(weights, tf.float32) ** 2)
print(tape.gradient(loss, w))
# Advice: tf.float32
