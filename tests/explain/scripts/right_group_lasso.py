"""Group lasso whose penalty is smooth at 0, with one group that the proximal step has set to 0."""

import gradtape as tf

w = tf.Variable([[0.0, 0.0], [1.0, -1.0], [0.5, 0.3]])
x = tf.random.normal([30, 3])
y = x @ tf.constant([[0.0, 0.0], [1.2, -0.8], [0.4, 0.6]])
for step in range(3):
    with tf.GradientTape() as tape:
        penalty = tf.reduce_sum(tf.sqrt(tf.reduce_sum(w**2, axis=1) + 1e-8))
        loss = tf.reduce_mean((x @ w - y) ** 2) + 0.1 * penalty
    gradient = tape.gradient(loss, w)
    stepped = w - 0.1 * gradient
    length = tf.norm(stepped, axis=1, keepdims=True)
    w.assign(stepped * tf.maximum(1.0 - 0.01 / tf.maximum(length, 1e-8), 0.0))
    print(step, float(loss))
