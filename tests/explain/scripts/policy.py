"""A policy gradient whose log-probability was computed while acting."""

import gradtape as tf

policy = tf.keras.layers.Dense(2)
policy.build([None, 3])
states, log_probs = [], []
for step in range(3):
    state = tf.random.normal([1, 3], seed=step)
    log_probs.append(tf.nn.log_softmax(policy(state))[0, 0])  # <- outside_tape
    states.append(state)
rewards = tf.constant([1.0, 0.5, -0.2])
with tf.GradientTape() as tape:
    loss = -tf.reduce_sum(tf.stack(log_probs) * rewards)
tape.gradient(loss, policy.trainable_variables)
# Advice: open the tape before the loop in line 8
