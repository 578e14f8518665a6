"""A power iteration that starts at zero."""

import gradtape as tf

matrix = tf.Variable([[2.0, 0.5], [0.5, 1.0]])


@tf.function
def largest(start):
    def body(i, v):
        v = tf.linalg.matvec(matrix, v)
        return i + 1, v / tf.norm(v)  # <- nan_origin

    v = tf.while_loop(lambda i, v: i < 5, body, [tf.constant(0), start])[1]
    return tf.tensordot(v, tf.linalg.matvec(matrix, v), 1)


with tf.GradientTape() as tape:
    radius = largest(tf.zeros([2]))
print(tape.gradient(radius, matrix))
