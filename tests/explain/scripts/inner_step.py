"""Meta-learning whose inner step assigns."""

import gradtape as tf

w = tf.Variable([1.0, -1.0])
rate = tf.Variable(0.1)


@tf.function
def meta_step(x, y):
    with tf.GradientTape() as outer:
        with tf.GradientTape() as inner:
            loss = tf.reduce_mean((x * w - y) ** 2)
        g = inner.gradient(loss, w)
        w.assign_sub(rate * g)  # <- state
        after = tf.reduce_mean((x * w - y) ** 2)
    return outer.gradient(after, rate)


meta_step(tf.ones([2]), tf.zeros([2]))
# Fix: new_w = w - rate * g; w.assign(new_w)
