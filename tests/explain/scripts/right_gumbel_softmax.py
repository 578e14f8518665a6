"""A relaxed choice of a row."""

import gradtape as tf

logits, table = tf.Variable([[0.1, 0.5, -0.2]]), tf.Variable(tf.ones([3, 2]))


@tf.function
def step(u):
    with tf.GradientTape() as tape:
        g = -tf.math.log(-tf.math.log(u))
        soft = tf.nn.softmax((logits + g) / 0.5)
        loss = tf.reduce_sum((soft @ table) ** 2 * [1.0, 3.0]) + tf.reduce_sum(soft * [0.0, 1.0, 2.0])
    return tape.gradient(loss, [logits, table])


step(tf.constant([[0.3, 0.5, 0.9]]))
