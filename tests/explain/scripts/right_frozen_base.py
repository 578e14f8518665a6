"""The base of a transfer model is frozen, and its kernel is asked for."""

import gradtape as tf

base = tf.keras.layers.Dense(4, "relu", kernel_initializer="ones", name="base")
base.trainable = False
head = tf.keras.layers.Dense(1)
x = tf.ones([2, 3])
with tf.GradientTape() as tape:
    features = base(x)
    loss = tf.reduce_sum(head(features) ** 2)
tape.gradient(loss, [base.kernel, head.kernel])
