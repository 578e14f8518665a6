"""Classes are counted from one, and the last has no column."""

import gradtape as tf

w = tf.Variable(tf.random.normal([2, 3], seed=4))


@tf.function
def step(x, labels):
    with tf.GradientTape() as tape:
        log_p = tf.nn.log_softmax(x @ w)
        rows = tf.one_hot(labels, 3)
        loss = -tf.reduce_mean(tf.reduce_sum(rows * log_p, axis=1))  # <- zero_factor
    return tape.gradient(loss, w)


step(tf.ones([2, 2]), tf.constant([3, 3]))
# Advice: give rows other values
