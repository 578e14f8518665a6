"""The entropy-like overlap of the eigenvectors of a density matrix that is fully mixed."""

import gradtape as tf

mixing = tf.Variable([[0.5, 0.0], [0.0, 0.5]])
reference = tf.constant([[0.8, 0.6], [-0.6, 0.8]])


def overlap(matrix):
    symmetric = 0.5 * (matrix + tf.transpose(matrix))
    _values, vectors = tf.linalg.eigh(symmetric)  # <- nan_origin
    return tf.reduce_sum(tf.abs(tf.matmul(reference, vectors)[:, 0]))


def step(rate=0.1):
    with tf.GradientTape() as tape:
        loss = -overlap(mixing)
    mixing.assign_sub(rate * tape.gradient(loss, mixing))


step()
print(mixing)
# Advice: what sets them apart
