"""Two views, of which each is stopped once."""

import gradtape as tf

online, target = tf.keras.layers.Dense(3), tf.keras.layers.Dense(3)
a, b = tf.ones([4, 2]), 2.0 * tf.ones([4, 2])
with tf.GradientTape() as tape:
    one = tf.reduce_mean((tf.stop_gradient(online(a)) - target(b)) ** 2)  # <- stopped
    two = tf.reduce_mean((tf.stop_gradient(online(b)) - target(a)) ** 2)  # <- stopped
    loss = one + two
tape.gradient(loss, online.trainable_variables)
