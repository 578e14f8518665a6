"""Actions that are clipped to the bounds of the environment."""

import gradtape as tf

actor = tf.keras.layers.Dense(2, kernel_initializer="zeros", bias_initializer=tf.keras.initializers.Constant(3.0))
critic = tf.keras.layers.Dense(1)


@tf.function
def actor_step(states):
    with tf.GradientTape() as tape:
        actions = tf.clip_by_value(actor(states), -1.0, 1.0)  # <- clipped
        loss = -tf.reduce_mean(critic(actions))
    return tape.gradient(loss, actor.trainable_variables)


actor_step(tf.ones([3, 4]))
# Advice: widen the bounds
