"""The loss over a dataset is summed by `reduce`."""

import gradtape as tf

w = tf.Variable(1.5)
data = tf.data.Dataset.from_tensor_slices(([1.0, 2.0, 3.0], [2.0, 4.0, 6.0]))


def add(total, pair):
    x, y = pair
    return total + (w * x - y) ** 2


with tf.GradientTape() as tape:
    loss = data.reduce(0.0, add)  # <- left_library
print(tape.gradient(loss, w))
# Advice: call `add` under the tape
