"""Newton's steps in a loop, one of which meets a slope of zero."""

import gradtape as tf

start = tf.Variable(0.0)
c = tf.Variable(2.0)


@tf.function
def solve(x):
    def body(i, x):
        value = x * x - c
        return i + 1, x - value / (2.0 * x)  # <- nan_origin

    return tf.while_loop(lambda i, x: i < 4, body, [tf.constant(0), x])[1]


with tf.GradientTape() as tape:
    root = solve(tf.identity(start))
    loss = (root - 1.0) ** 2
print(tape.gradient(loss, c))
# Fix: tf.abs(2.0 * x) < 0.001
