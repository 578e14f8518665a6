"""The logarithm of a determinant that is too small for float32."""

import gradtape as tf

scales = tf.Variable(tf.fill([20], 1e-3))
data = tf.random.normal([5, 20], seed=5)
with tf.GradientTape() as tape:
    covariance = tf.linalg.diag(scales)
    log_det = tf.math.log(tf.linalg.det(covariance))  # <- nan_origin
    loss = 0.5 * log_det + 0.5 * tf.reduce_mean(data**2 / scales)
print(tape.gradient(loss, scales))
# Fix: tf.linalg.slogdet(covariance)[1]
