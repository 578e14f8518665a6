"""ReZero: the gate of the residual branch begins at zero."""

import gradtape as tf

w, alpha = tf.Variable(tf.random.normal([3, 3], seed=1)), tf.Variable(0.0)
x = tf.random.normal([4, 3], seed=2)
with tf.GradientTape() as tape:
    y = x + alpha * tf.nn.relu(x @ w)  # <- zero_factor
    loss = tf.reduce_mean((y - 1.0) ** 2)
tape.gradient(loss, [w, alpha])
# Advice: start alpha at other values
