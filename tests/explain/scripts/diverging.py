"""A rate that is too large."""

import numpy as np

import gradtape as tf

x = np.linspace(0.0, 1000.0, 20).astype("float32")
y = 3.0 * x + 2.0
w, b = tf.Variable(0.0), tf.Variable(0.0)
for _ in range(20):
    with tf.GradientTape() as tape:
        pred = w * x + b
        loss = tf.reduce_mean(tf.square(pred - y))  # <- inf_origin
    dw, db = tape.gradient(loss, [w, b])
    w.assign_sub(0.1 * dw)
    b.assign_sub(0.1 * db)
w.numpy()
# Advice: a smaller rate
