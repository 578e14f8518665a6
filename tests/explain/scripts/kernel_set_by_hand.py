"""A hypernetwork sets the kernel of a layer in the forward pass."""

import gradtape as tf

hyper = tf.keras.layers.Dense(6)
target = tf.keras.layers.Dense(2, use_bias=False)
target.build((None, 3))
z, x = tf.ones([1, 4]), tf.ones([5, 3])
with tf.GradientTape() as tape:
    weights = tf.reshape(hyper(z), [3, 2])
    target.kernel.assign(weights)  # <- state
    loss = tf.reduce_mean((target(x) - 1.0) ** 2)
print(tape.gradient(loss, hyper.trainable_variables))
# Advice: stateless_call
