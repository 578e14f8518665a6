"""Sensors of an engine are standardized; one of them always shows the same."""

import numpy as np

import gradtape as tf

readings = np.array([[1.0, 5.0], [2.0, 5.0], [4.0, 5.0], [3.0, 5.0]], "float32")
wear = tf.constant([[0.1], [0.2], [0.5], [0.3]])
with np.errstate(all="ignore"):
    readings = (readings - readings.mean(0)) / readings.std(0)

w, b = tf.Variable(tf.random.normal([2, 1])), tf.Variable([0.0])


@tf.function
def step(x, y):
    with tf.GradientTape() as tape:
        predicted = x @ w + b  # <- nan_origin
        loss = tf.reduce_mean((predicted - y) ** 2)
    gradients = tape.gradient(loss, [w, b])
    w.assign_sub(0.1 * gradients[0])
    b.assign_sub(0.1 * gradients[1])
    return loss


for _ in range(2):
    print(float(step(tf.constant(readings), wear)))
# Advice: look for NaN and infinity in the data
