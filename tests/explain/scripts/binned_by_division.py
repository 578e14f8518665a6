"""Ages are put in bins by a floor division of a learned width."""

import gradtape as tf

width = tf.Variable(7.5)
effect = tf.Variable(0.3)


@tf.function
def train_step(ages, targets):
    with tf.GradientTape() as tape:
        bins = ages // width  # <- not_differentiable
        loss = tf.reduce_mean((effect * bins - targets) ** 2)
    return loss, tape.gradient(loss, [width, effect])


train_step(tf.constant([20.0, 31.0, 64.0]), tf.constant([1.0, 1.5, 3.0]))
# Advice: divide with `/`
