"""REINFORCE that differentiates the reward."""

import gradtape as tf

policy = tf.keras.Sequential([tf.keras.layers.Dense(3)])
rewards = tf.constant([1.0, 0.0, -1.0])
state = tf.ones([5, 2])
with tf.GradientTape() as tape:
    logits = policy(state)
    action = tf.random.categorical(logits, 1)[:, 0]  # <- not_differentiable
    loss = -tf.reduce_mean(tf.gather(rewards, action))
tape.gradient(loss, policy.trainable_variables)
# Advice: log-probability
