"""A policy is trained by the action that was drawn."""

import gradtape as tf

policy = tf.keras.layers.Dense(2)
policy.build([None, 3])


@tf.function
def step(states, rewards):
    with tf.GradientTape() as tape:
        logits = policy(states)
        action = tf.random.categorical(logits, 1, seed=3)  # <- not_differentiable
        loss = -tf.reduce_mean(rewards * tf.cast(action[:, 0], tf.float32))
    return tape.gradient(loss, policy.trainable_variables)


step(tf.ones([4, 3]), tf.constant([1.0, 0.0, 2.0, 1.0]))
# Advice: try the log-probability of what was drawn
