"""The actor's loss calls the target critic, and asks for the critic's variables."""

import gradtape as tf


def network():
    return tf.keras.Sequential(
        [tf.keras.layers.Input([3]), tf.keras.layers.Dense(4, activation="tanh"), tf.keras.layers.Dense(1)]
    )


critic, target_critic = network(), network()
target_critic.set_weights(critic.get_weights())
state, reward = tf.random.normal([6, 3], seed=2), tf.ones([6, 1])
with tf.GradientTape() as tape:
    value = target_critic(state)  # <- wrong_object
    loss = tf.reduce_mean((reward - value) ** 2)
tape.gradient(loss, critic.trainable_variables)
# Advice: call `critic` there
