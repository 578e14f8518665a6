"""The terms of a loss are a generator, which runs where it is summed."""

import gradtape as tf

scales = [tf.Variable(1.0), tf.Variable(2.0)]
data = tf.constant([1.0, 2.0, 4.0])


def terms(values):
    for scale in scales:
        yield tf.reduce_mean((scale * values - 1.0) ** 2)  # <- outside_tape


with tf.GradientTape() as tape:
    parts = terms(data)
loss = tf.add_n(list(parts))
print(tape.gradient(loss, scales))
# Advice: read the generator under the tape
