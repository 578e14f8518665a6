"""The rank of a matrix is minimized."""

import gradtape as tf

w = tf.Variable(tf.random.normal([3, 3], seed=9))


@tf.function
def step():
    with tf.GradientTape() as tape:
        rank = tf.linalg.matrix_rank(w)  # <- not_differentiable
        loss = tf.cast(rank, tf.float32)
    return tape.gradient(loss, w)


step()
# Advice: in the place of tf.linalg.matrix_rank
