"""A matrix that is only just singular."""

import gradtape as tf

a = tf.Variable([[4.0, 2.0], [2.0, 1.0]])


@tf.function
def f():
    with tf.GradientTape() as tape:
        l = tf.linalg.cholesky(a)  # <- nan_origin
        loss = tf.reduce_sum(l)
    return tape.gradient(loss, a)


f()
