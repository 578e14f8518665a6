"""A covariance whose scale is computed once, where the object is made."""

import gradtape as tf


class Kernel:
    def __init__(self, log_scale):
        self.scale = tf.exp(log_scale)  # <- outside_tape

    def __call__(self, x):
        gaps = x[:, None] - x[None, :]
        return tf.exp(-0.5 * (gaps / self.scale) ** 2)


log_scale = tf.Variable(0.3)
kernel = Kernel(log_scale)
x = tf.linspace(0.0, 1.0, 4)
y = tf.sin(x)
optimizer = tf.keras.optimizers.Adam(0.1)
for _ in range(3):
    with tf.GradientTape() as tape:
        covariance = kernel(x) + 0.1 * tf.eye(4)
        loss = tf.reduce_sum(y * tf.linalg.matvec(tf.linalg.inv(covariance), y))
    gradients = tape.gradient(loss, [log_scale])
    optimizer.apply_gradients(zip(gradients, [log_scale], strict=True))
# Advice: compute it in a method
