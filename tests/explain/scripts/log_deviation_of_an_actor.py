"""The log deviation of an actor is out of its bounds."""

import gradtape as tf

mean = tf.keras.layers.Dense(1)
log_std = tf.Variable([3.0])
states, actions = tf.random.normal([5, 2], seed=1), tf.random.normal([5, 1], seed=2)


@tf.function
def nll(states, actions):
    bounded = tf.clip_by_value(log_std, -20.0, 2.0)  # <- clipped
    z = (actions - mean(states)) / tf.exp(bounded)
    return tf.reduce_mean(0.5 * z**2 + bounded)


with tf.GradientTape() as tape:
    loss = nll(states, actions)
grads = tape.gradient(loss, [log_std, *mean.trainable_variables])
# Advice: start log_std inside of them
