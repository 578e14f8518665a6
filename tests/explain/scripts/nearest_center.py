"""Points are summed by the center that is nearest."""

import gradtape as tf

centers = tf.Variable([[0.0, 0.0], [3.0, 3.0]])
points = tf.constant([[0.1, 0.3], [2.5, 3.2], [3.1, 2.7]])


@tf.function
def step():
    with tf.GradientTape() as tape:
        distances = tf.reduce_sum((points[:, None] - centers) ** 2, -1)
        nearest = tf.argmin(distances, axis=1)  # <- not_differentiable
        sums = tf.math.unsorted_segment_sum(points, nearest, 2)
        loss = tf.reduce_sum(sums**2)
    return tape.gradient(loss, centers)


step()
# Advice: tf.nn.softmax(-distances)
