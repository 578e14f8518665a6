"""Mish, written as in the paper, for inputs that are not normalized."""

import gradtape as tf


class Mish(tf.keras.layers.Layer):
    def call(self, x):
        return x * tf.tanh(tf.math.log(1.0 + tf.exp(x)))  # <- nan_origin


model = tf.keras.Sequential([tf.keras.layers.Dense(4, kernel_initializer="ones"), Mish(), tf.keras.layers.Dense(1)])
incomes = tf.constant([[120.0, 3.0], [15.0, 1.0], [40.0, 2.0]])
loans = tf.constant([[1.0], [0.0], [0.0]])
model(incomes)
loss_fn = tf.keras.losses.BinaryCrossentropy(from_logits=True)
with tf.GradientTape() as tape:
    loss = loss_fn(loans, model(incomes))
gradients = tape.gradient(loss, model.trainable_variables)
print(float(loss), [bool(tf.reduce_any(tf.math.is_nan(g))) for g in gradients])
# Fix: tf.math.softplus(x)
