"""Parameters are read back from a configuration in each step."""

import json

import gradtape as tf

width = tf.Variable(1.5)


def config():
    return json.dumps({"width": float(width)})  # <- left_library


@tf.function
def bump(x, width):
    return tf.reduce_sum(tf.exp(-((x / width) ** 2)))


with tf.GradientTape() as tape:
    settings = json.loads(config())
    loss = bump(tf.constant([0.5, 1.0]), tf.constant(settings["width"]))
print(tape.gradient(loss, width))
# Advice: go on with the tensor itself
