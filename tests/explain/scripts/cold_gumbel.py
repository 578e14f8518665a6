"""A relaxed choice whose temperature is far too low."""

import gradtape as tf

logits = tf.Variable([1.0, 0.5, -0.2])
costs = tf.constant([3.0, 1.0, 2.0])
uniform = tf.constant([0.6, 0.2, 0.7])


@tf.function
def step(temperature):
    with tf.GradientTape() as tape:
        gumbel = -tf.math.log(-tf.math.log(uniform))
        choice = tf.nn.softmax((logits + gumbel) / temperature)  # <- saturated
        loss = tf.reduce_sum(choice * costs)
    return loss, tape.gradient(loss, logits)


step(tf.constant(1e-3))
# Advice: scale its input down
