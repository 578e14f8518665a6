"""A network that writes the kernel of another."""

import gradtape as tf

hyper = tf.keras.layers.Dense(6)
layer = tf.keras.layers.Dense(2, use_bias=False)
layer.build((None, 3))
z, x = tf.ones([1, 4]), tf.ones([5, 3])
with tf.GradientTape() as tape:
    layer.kernel.assign(tf.reshape(hyper(z), [3, 2]))  # <- state
    loss = tf.reduce_mean(layer(x) ** 2)
tape.gradient(loss, hyper.trainable_variables)
# Advice: stateless_call
