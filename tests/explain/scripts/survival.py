"""The likelihood of a survival whose hazard reaches 1."""

import gradtape as tf

hazard_logits = tf.Variable([0.0, 1.0, 40.0, 0.5])


@tf.function
def step(lived):
    with tf.GradientTape() as tape:
        hazard = tf.sigmoid(hazard_logits)
        survival = tf.math.cumprod(1.0 - hazard)
        loss = -tf.reduce_mean(lived * tf.math.log(survival))  # <- nan_origin
    return loss, tape.gradient(loss, hazard_logits)


step(tf.constant([1.0, 1.0, 1.0, 0.0]))
