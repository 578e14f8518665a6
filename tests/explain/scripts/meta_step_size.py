"""A meta-learner that learns the step size of its inner optimizer."""

import gradtape as tf

log_rate = tf.Variable(-2.0)
w = tf.Variable([[0.5], [-0.3]])
inner = tf.keras.optimizers.SGD(0.1)
outer = tf.keras.optimizers.Adam(1e-3)
support = tf.constant([[1.0, 2.0], [0.0, 1.0]]), tf.constant([[1.0], [0.0]])
query = tf.constant([[2.0, 1.0]]), tf.constant([[1.5]])


def error(batch):
    features, wanted = batch
    return tf.reduce_mean((features @ w - wanted) ** 2)


def adapt():
    inner.learning_rate.assign(tf.exp(log_rate))  # <- state
    with tf.GradientTape() as tape:
        loss = error(support)
    inner.apply_gradients([(tape.gradient(loss, w), w)])


def meta_step():
    with tf.GradientTape() as tape:
        adapt()
        loss = error(query)
    gradient = tape.gradient(loss, log_rate)
    outer.apply_gradients([(gradient, log_rate)])


meta_step()
# Advice: keep the new value in a tensor
