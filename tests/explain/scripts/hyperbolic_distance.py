"""The distance of a point of the Poincare ball from itself."""

import gradtape as tf

points = tf.Variable([[0.1, 0.2], [0.3, -0.1]])


def distance(a, b):
    gap = tf.reduce_sum((a - b) ** 2, axis=-1)
    room = (1.0 - tf.reduce_sum(a**2, axis=-1)) * (1.0 - tf.reduce_sum(b**2, axis=-1))
    return tf.acosh(1.0 + 2.0 * gap / room)  # <- nan_origin


@tf.function
def step():
    with tf.GradientTape() as tape:
        loss = tf.reduce_sum(distance(points[:, None], points[None]))
    return tape.gradient(loss, points)


step()
