"""One tape gives the gradients of actor and critic."""

import gradtape as tf

actor, critic = tf.Variable(0.5), tf.Variable(1.5)
states = tf.constant([1.0, 2.0])
with tf.GradientTape() as tape:
    value = critic * states
    advantage = tf.stop_gradient(3.0 - value)
    actor_loss = -tf.reduce_mean(advantage * tf.math.log_sigmoid(actor * states))
    critic_loss = tf.reduce_mean((3.0 - value) ** 2)
actor_gradient = tape.gradient(actor_loss, actor)  # <- tape_used
critic_gradient = tape.gradient(critic_loss, critic)
# Fix: persistent=True
