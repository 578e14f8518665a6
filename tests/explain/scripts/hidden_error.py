"""A function that raises in a `try`."""

import gradtape as tf

w, scale = tf.Variable([1.0, 2.0]), tf.Variable([1.0, 1.0, 1.0])


def scaled(x):
    return tf.tensordot(x, scale, 1)


def robust(x):
    try:
        return scaled(x)
    except Exception:  # <- branch_not_taken
        return x


with tf.GradientTape() as tape:
    loss = tf.reduce_sum(robust(w) ** 2)
print(tape.gradient(loss, scale))
# Advice: do what the error says
