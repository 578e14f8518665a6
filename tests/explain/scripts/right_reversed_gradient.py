"""A layer that reverses the gradient of a domain classifier."""

import gradtape as tf


@tf.custom_gradient
def reverse(x):
    def grad(dy):
        return -0.5 * dy

    return tf.identity(x), grad


features, domain = tf.keras.layers.Dense(3), tf.keras.layers.Dense(1)
x = tf.random.normal([4, 2], seed=1)
with tf.GradientTape() as tape:
    logits = domain(reverse(features(x)))
    loss = tf.reduce_mean(tf.nn.sigmoid_cross_entropy_with_logits(tf.ones([4, 1]), logits))
tape.gradient(loss, features.trainable_variables + domain.trainable_variables)
