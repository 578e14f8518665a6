"""The mean of a row without elements, on the other side."""

import gradtape as tf

w = tf.Variable([1.0, 2.0, 3.0])


@tf.function
def step(x, mask):
    with tf.GradientTape() as tape:
        err = (x * w - 1.0) ** 2
        total = tf.reduce_sum(err * mask, axis=1)
        count = tf.reduce_sum(mask, axis=1)
        per_row = tf.where(count > 0.0, total / count, 0.0)  # <- nan_origin
        loss = tf.reduce_mean(per_row)
    return loss, tape.gradient(loss, w)


step(tf.ones([2, 3]), tf.constant([[1.0, 1.0, 0.0], [0.0, 0.0, 0.0]]))
