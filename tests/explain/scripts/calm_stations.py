"""The direction of the wind at stations, one of which has no wind."""

import gradtape as tf

wind = tf.Variable([[3.0, 1.0], [0.0, 0.0], [-2.0, 4.0]])
observed = tf.constant([0.4, 1.0, 2.0])


@tf.function
def step():
    with tf.GradientTape() as tape:
        direction = tf.math.atan2(wind[:, 1], wind[:, 0])  # <- nan_origin
        loss = tf.reduce_mean(1.0 - tf.cos(direction - observed))
    return tape.gradient(loss, wind)


print(step())
