"""Meta-learning with an adapted weight that is a tensor."""

import gradtape as tf

w, rate = tf.Variable([1.0, -1.0]), tf.Variable(0.1)
x, y = tf.constant([1.0, 2.0]), tf.constant([0.5, 0.5])
with tf.GradientTape() as outer:
    with tf.GradientTape() as inner:
        loss = tf.reduce_mean((x * w - y) ** 2)
    g = inner.gradient(loss, w)
    after = tf.reduce_mean((x * (w - rate * g) - y) ** 2)
outer.gradient(after, [w, rate])
