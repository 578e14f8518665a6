"""A learned first state, and backpropagation that is cut after each part of a sequence."""

import gradtape as tf

cell = tf.keras.layers.SimpleRNNCell(3)
cell.build((None, 2))
first = tf.Variable(tf.zeros([1, 3]))
sequence = tf.random.normal([6, 1, 2], seed=1)


def run(state):
    for t in range(6):
        _, (state,) = cell(sequence[t], [state])
        if t % 3 == 2:
            state = tf.stop_gradient(state)  # <- stopped
    return state


with tf.GradientTape() as tape:
    out = run(tf.identity(first))
    loss = tf.reduce_mean((out - 1.0) ** 2)
print(tape.gradient(loss, [first]))
