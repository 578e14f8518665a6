"""A trellis in logarithms whose transitions have a zero."""

import gradtape as tf

transitions = tf.Variable([[0.5, 0.5], [0.0, 1.0]])
frames = tf.math.log(tf.constant([[0.7, 0.3], [0.6, 0.4], [0.2, 0.8]]))


@tf.function
def score():
    alpha = tf.constant([0.0, -1.0])
    for frame in frames:
        alpha = frame + tf.reduce_logsumexp(alpha[:, None] + tf.math.log(transitions), axis=0)  # <- nan_origin
    return tf.reduce_logsumexp(alpha)


with tf.GradientTape() as tape:
    loss = -score()
print(tape.gradient(loss, transitions))
# Fix: tf.maximum(transitions, 1e-12)
