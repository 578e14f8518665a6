"""The number of wrong predictions is minimized."""

import gradtape as tf

model = tf.keras.Sequential([tf.keras.layers.Dense(3)])
x, y = tf.random.normal([6, 4], seed=5), tf.constant([0, 1, 2, 0, 1, 2], tf.int64)


def wrong(labels, logits):
    chosen = tf.argmax(logits, axis=1)  # <- not_differentiable
    return 1.0 - tf.reduce_mean(tf.cast(tf.equal(chosen, labels), tf.float32))


with tf.GradientTape() as tape:
    loss = wrong(y, model(x))
tape.gradient(loss, model.trainable_variables)
# Advice: an accuracy only counts
