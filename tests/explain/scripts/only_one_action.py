"""A policy of which one action alone is allowed."""

import gradtape as tf

policy = tf.keras.layers.Dense(3)
states, allowed = tf.random.normal([2, 4], seed=4), tf.constant([[0.0, 1.0, 0.0], [1.0, 0.0, 0.0]])
actions, advantages = tf.constant([1, 0]), tf.constant([0.5, -1.0])
with tf.GradientTape() as tape:
    logits = policy(states) + (allowed - 1.0) * 1e9
    log_p = tf.nn.log_softmax(logits)  # <- saturated
    loss = -tf.reduce_mean(tf.gather(log_p, actions, batch_dims=1) * advantages)
print(tape.gradient(loss, policy.trainable_variables))
# Advice: scale its input down
