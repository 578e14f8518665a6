"""Answers that people prefer get a larger score; scores are multiplied by a large beta."""

import gradtape as tf

beta = 50.0
quality = tf.Variable([4.0, 3.5, -1.0, 0.0])


def preference_loss(chosen, rejected):
    margin = beta * (tf.gather(quality, chosen) - tf.gather(quality, rejected))
    return -tf.reduce_mean(tf.math.log_sigmoid(margin))  # <- saturated


for _ in range(2):
    with tf.GradientTape() as tape:
        loss = preference_loss([0, 1], [2, 3])
    gradient = tf.convert_to_tensor(tape.gradient(loss, quality))
    quality.assign_sub(0.1 * gradient)
    print(float(loss), gradient)
# Advice: scale its input down
