"""REINFORCE with a baseline that is stopped."""

import gradtape as tf

policy, value = tf.keras.layers.Dense(3), tf.keras.layers.Dense(1)
states, actions, returns = tf.ones([4, 2]) * [[1.0, 2.0]], tf.constant([0, 1, 2, 1]), tf.constant([1.0, 0.5, -1.0, 2.0])
with tf.GradientTape() as tape:
    log_probs = tf.nn.log_softmax(policy(states))
    chosen = tf.gather(log_probs, actions, batch_dims=1)
    baseline = value(states)[:, 0]
    advantage = tf.stop_gradient(returns - baseline)
    loss = -tf.reduce_mean(chosen * advantage) + tf.reduce_mean((returns - baseline) ** 2)
tape.gradient(loss, policy.trainable_variables + value.trainable_variables)
