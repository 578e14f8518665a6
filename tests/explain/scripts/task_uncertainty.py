"""The losses of three tasks, weighted by learned uncertainties."""

import gradtape as tf

log_variances = [tf.Variable(0.0, name=f"log_variance_{task}") for task in ("depth", "normals", "labels")]
shared = tf.Variable(tf.random.normal([4, 3]))


def losses_of(x):
    out = tf.tanh(x @ shared)
    return [tf.reduce_mean((out[:, task] - 0.5) ** 2) for task in range(3)]


def combined(losses):
    precisions = [float(tf.exp(-v)) for v in log_variances]  # <- left_library
    return tf.add_n([p * loss for p, loss in zip(precisions, losses, strict=True)])


with tf.GradientTape() as tape:
    total = combined(losses_of(tf.random.normal([8, 4])))
print(tape.gradient(total, log_variances))
