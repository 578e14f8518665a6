"""The entropy of a density matrix of a pure state."""

import gradtape as tf

mix = tf.Variable(1.0)


@tf.function
def entropy():
    rho = tf.linalg.diag(tf.stack([mix, 1.0 - mix]))
    values = tf.linalg.eigvalsh(rho)
    return -tf.reduce_sum(values * tf.math.log(values))  # <- nan_origin


with tf.GradientTape() as tape:
    loss = entropy()
print(tape.gradient(loss, mix))
# Fix: tf.maximum(values, 1e-12)
