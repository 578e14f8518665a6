"""A baseline that is computed in a pause, and its own loss too."""

import gradtape as tf

v = tf.Variable(0.5)
with tf.GradientTape(persistent=True) as tape:
    with tape.stop_recording():
        baseline = v * 2.0  # <- recording_paused
    critic_loss = (baseline - 3.0) ** 2
print(tape.gradient(critic_loss, v))
