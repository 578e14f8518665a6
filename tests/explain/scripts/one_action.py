"""A dueling network with a single action."""

import gradtape as tf

hidden = tf.keras.layers.Dense(4, activation="tanh")
value, advantage = tf.keras.layers.Dense(1), tf.keras.layers.Dense(1)
states = tf.random.normal([3, 2], seed=8)
with tf.GradientTape() as tape:
    h = hidden(states)
    a = advantage(h)
    q = value(h) + (a - tf.reduce_mean(a, axis=1, keepdims=True))  # <- cancelled
    loss = tf.reduce_mean((q - 1.0) ** 2)
tape.gradient(loss, advantage.trainable_variables)
# Advice: more than one element
