"""The share of zero weights is a penalty for a dense network."""

import gradtape as tf

model = tf.keras.Sequential([tf.keras.layers.Input([3]), tf.keras.layers.Dense(4)])
gates = tf.Variable([0.5, 0.0, -1.0, 2.0])
x = tf.ones([2, 3])
with tf.GradientTape() as tape:
    features = model(x)
    sparsity = 1.0 - tf.math.zero_fraction(gates)  # <- not_differentiable
    loss = tf.reduce_mean(features**2) + 0.01 * sparsity
print(tape.gradient(loss, [*model.trainable_variables, gates]))
# Advice: tf.reduce_mean(1 - tf.tanh(tf.abs(gates)))
