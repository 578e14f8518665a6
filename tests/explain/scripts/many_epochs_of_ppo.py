"""PPO: after some epochs on the same batch the actor's gradient is exactly 0."""

import gradtape as tf

actor = tf.keras.layers.Dense(2, kernel_initializer="zeros")
states = tf.constant([[1.0, 0.5], [0.3, 1.0], [0.8, 0.9]])
actions = tf.constant([0, 0, 0])
advantages = tf.constant([1.0, 2.0, 0.5])


def log_probability(states):
    return tf.reduce_sum(tf.nn.log_softmax(actor(states)) * tf.one_hot(actions, 2), axis=1)


old = log_probability(states)
actor.kernel.assign([[2.0, -2.0], [2.0, -2.0]])  # what the epochs before have learned


def ppo_loss(epsilon=0.2):
    ratio = tf.exp(log_probability(states) - old)
    clipped = tf.clip_by_value(ratio, 1.0 - epsilon, 1.0 + epsilon)  # <- clipped
    return -tf.reduce_mean(tf.minimum(ratio * advantages, clipped * advantages))


with tf.GradientTape() as tape:
    loss = ppo_loss()
print(tape.gradient(loss, actor.trainable_variables))
# Advice: take new samples
