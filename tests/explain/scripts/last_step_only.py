"""A recurrent net whose output is taken before the learned part."""

import gradtape as tf

late = tf.Variable([0.3, 0.3])


@tf.function
def step(x):
    with tf.GradientTape() as tape:
        states = tf.stack([x, x + late, x + 2.0 * late])
        first = states[0]  # <- not_selected
        loss = tf.reduce_sum(first**2)
    return tape.gradient(loss, late)


step(tf.constant([1.0, 2.0]))
# Advice: use what the target takes
