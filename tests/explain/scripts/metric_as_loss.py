"""The mean of a metric is trained."""

import gradtape as tf

w = tf.Variable([1.0, 2.0])
mean = tf.keras.metrics.Mean()
with tf.GradientTape() as tape:
    values = (w - 3.0) ** 2
    mean.update_state(values)  # <- state
    loss = mean.result()
tape.gradient(loss, w)
# Advice: compute the loss from the tensor that the metric is given
