"""Group lasso with a proximal step: the first step is fine, then all is NaN."""

import gradtape as tf

tf.random.set_seed(1)
w = tf.Variable([[0.05, 0.02], [1.0, -1.0], [0.5, 0.3]])
x = tf.random.normal([30, 3])
y = x @ tf.constant([[0.0, 0.0], [1.2, -0.8], [0.4, 0.6]])


def penalty(w):
    return tf.reduce_sum(tf.sqrt(tf.reduce_sum(w**2, axis=1)))  # <- nan_origin


def prox(w, t):
    length = tf.norm(w, axis=1, keepdims=True)
    return tf.where(length > t, w * (1.0 - t / length), 0.0)


for step in range(4):
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean((x @ w - y) ** 2) + 0.1 * penalty(w)
    gradient = tape.gradient(loss, w)
    print(step, float(loss), gradient.numpy())
    w.assign(prox(w - 0.1 * gradient, 0.06))
# Fix: tf.maximum(
