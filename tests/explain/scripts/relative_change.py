"""The relative change of a series that starts at zero and goes down."""

import gradtape as tf

drift = tf.Variable(-0.5)
with tf.GradientTape() as tape:
    series = drift * tf.constant([0.0, 1.0, 2.0, 3.0])
    change = (series[1:] - series[:-1]) / series[:-1]  # <- nan_origin
    loss = tf.reduce_mean(change**2)
print(tape.gradient(loss, drift))
# Fix: tf.where(tf.abs(series[:-1]) < 0.001
