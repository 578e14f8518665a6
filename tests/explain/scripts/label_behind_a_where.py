"""A missing label that a tf.where leaves out of the loss."""

import gradtape as tf

model = tf.keras.layers.Dense(1)


@tf.function
def step(x, y):
    with tf.GradientTape() as tape:
        squares = (y - model(x)) ** 2  # <- nan_origin
        known = tf.logical_not(tf.math.is_nan(y))
        loss = tf.reduce_mean(tf.where(known, squares, 0.0))
    return loss, tape.gradient(loss, model.trainable_variables)


step(tf.ones([3, 2]), tf.constant([[1.0], [float("nan")], [2.0]]))
# Fix: tf.where(tf.math.is_finite(y), y, 0.0)
