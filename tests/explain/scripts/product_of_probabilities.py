"""The likelihood is the product of many probabilities."""

import gradtape as tf

logit = tf.Variable(-2.0)
seen = tf.ones([200])


def likelihood(seen):
    p = tf.sigmoid(logit) * seen
    return tf.reduce_prod(p)  # <- underflow


with tf.GradientTape() as tape:
    loss = -likelihood(seen)
print(tape.gradient(loss, logit))
# Advice: sums of tf.math.log
