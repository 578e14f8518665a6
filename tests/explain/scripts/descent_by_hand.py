"""Gradient descent that puts tensors in a dictionary of variables."""

import gradtape as tf

params = {"w": tf.Variable([[1.0], [2.0]]), "b": tf.Variable([0.0])}
x, y = tf.constant([[1.0, 2.0], [3.0, 4.0]]), tf.constant([[1.0], [0.0]])
for _ in range(2):
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean((x @ params["w"] + params["b"] - y) ** 2)
    grads = tape.gradient(loss, params)
    for name in params:
        params[name] = params[name] - 0.1 * grads[name]  # <- rebound
