"""A recurrent loop that forgets its first state."""

import gradtape as tf

start = tf.Variable([1.0, -1.0])
decay = tf.constant(0.1)


@tf.function
def last(steps):
    state = tf.identity(start)
    for _ in tf.range(steps):
        state = decay * state * decay  # <- underflow
    return state


with tf.GradientTape() as tape:
    loss = tf.reduce_sum(last(tf.constant(60)) + 1.0)
print(tape.gradient(loss, start))
# Advice: with logarithms
