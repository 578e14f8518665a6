"""A power below 1 of zeros."""

import gradtape as tf

conv = tf.Variable(tf.random.stateless_normal([5, 5], [0, 3]))
x = tf.random.stateless_normal([4, 5], [0, 1])
with tf.GradientTape() as tape:
    image = tf.nn.relu(x @ conv)
    corrected = image ** (1.0 / 2.2)  # <- nan_origin
    loss = tf.reduce_mean((corrected - 0.5) ** 2)
tape.gradient(loss, conv)
