"""Units of a gelu that a bias pushes far below zero."""

import gradtape as tf

hidden = tf.keras.layers.Dense(4, bias_initializer=tf.keras.initializers.Constant(-60.0))
out = tf.keras.layers.Dense(1)
with tf.GradientTape() as tape:
    h = tf.nn.gelu(hidden(tf.random.normal([5, 3], seed=3)))  # <- saturated
    loss = tf.reduce_mean((out(h) - 1.0) ** 2)
print(tape.gradient(loss, hidden.trainable_variables))
# Advice: scale its input down
