"""A critic's loss that is not added."""

import gradtape as tf

critic = tf.keras.layers.Dense(1)
actor = tf.keras.layers.Dense(2)
x, returns, actions = tf.ones([4, 3]), tf.range(4.0)[:, None], tf.constant([0, 1, 0, 1])
with tf.GradientTape() as tape:
    value = critic(x)
    advantage = tf.stop_gradient(returns - value)  # <- stopped
    critic_loss = tf.reduce_mean((returns - value) ** 2)
    nll = tf.nn.sparse_softmax_cross_entropy_with_logits(actions, actor(x))[:, None]
    loss = tf.reduce_mean(nll * advantage)
tape.gradient(loss, critic.trainable_variables)
# Advice: add critic_loss to loss
