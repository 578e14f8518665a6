"""A temperature that was annealed to 0."""

import gradtape as tf

logits = tf.Variable([1.0, 2.0])


@tf.function
def step(temperature):
    with tf.GradientTape() as tape:
        scaled = logits / temperature  # <- nan_origin
        loss = tf.reduce_sum(tf.nn.softmax(scaled) * tf.constant([1.0, 0.0]))
    return tape.gradient(loss, logits)


step(tf.constant(0.0))
