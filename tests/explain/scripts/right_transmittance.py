"""Volume rendering as in NeRF, kept away from 0, with an opaque sample on a ray."""

import gradtape as tf

colors = tf.Variable(tf.random.uniform([2, 6, 3]))
density = tf.Variable([[0.1, 0.5, 2.0, 0.1, 0.2, 0.3], [0.2, 0.1, 40.0, 0.4, 0.2, 0.1]])


def render(colors, density, spacing=0.5):
    alpha = 1.0 - tf.exp(-tf.nn.relu(density) * spacing)
    weights = alpha * tf.math.cumprod(1.0 - alpha + 1e-10, axis=1, exclusive=True)
    return tf.reduce_sum(weights[..., None] * colors, axis=1)


seen = tf.constant([[0.5, 0.2, 0.1], [0.9, 0.8, 0.1]])
with tf.GradientTape() as tape:
    loss = tf.reduce_mean((render(colors, density) - seen) ** 2)
print(loss, tape.gradient(loss, [colors, density]))
