"""A probit model of features that are not scaled."""

import gradtape as tf

w = tf.Variable([[1.0], [1.0]])
x = tf.constant([[30.0, 70.0], [-80.0, -20.0]])
y = tf.constant([[1.0], [0.0]])


@tf.function
def step():
    with tf.GradientTape() as tape:
        p = 0.5 * (1.0 + tf.math.erf(x @ w / 1.4142))  # <- saturated
        loss = tf.reduce_mean((p - 0.9 * y) ** 2)
    return tape.gradient(loss, w)


step()
# Advice: scale its input down
