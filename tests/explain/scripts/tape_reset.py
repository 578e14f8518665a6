"""A tape that is reset before each pair is added."""

import gradtape as tf

w = tf.Variable(2.0)
with tf.GradientTape(persistent=True) as tape:
    total = tf.constant(0.0)
    for x, y in [(1.0, 2.0), (2.0, 3.0)]:
        total += (w * x - y) ** 2
    tape.reset()  # <- tape_used
tape.gradient(total, w)
