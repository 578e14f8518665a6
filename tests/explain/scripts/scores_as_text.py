"""Scores go through strings, as they are read from a log."""

import gradtape as tf

w = tf.Variable([0.5, 1.5])
log = []
with tf.GradientTape() as tape:
    for x in [1.0, 2.0]:
        log.append(f"{float(tf.reduce_sum(w * x)):.3f}")  # <- left_library  # noqa: PERF401
    loss = tf.add_n([tf.constant(float(entry)) for entry in log])
print(tape.gradient(loss, w))
# Advice: go on with the tensor
