"""A divergence from a histogram with a hole."""

import gradtape as tf

logits = tf.Variable([0.1, 0.2, 0.3])
p = tf.constant([0.5, 0.5, 0.0])


@tf.function
def kl():
    with tf.GradientTape() as tape:
        q = tf.nn.softmax(logits)
        loss = tf.reduce_sum(q * tf.math.log(q / p))  # <- nan_origin
    return loss, tape.gradient(loss, logits)


kl()
