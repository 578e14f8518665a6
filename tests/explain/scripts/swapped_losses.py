"""The actor's gradients are asked of the critic's loss."""

import gradtape as tf

actor = tf.keras.Sequential([tf.keras.layers.Input([3]), tf.keras.layers.Dense(2, activation="tanh")])
critic = tf.keras.Sequential([tf.keras.layers.Input([5]), tf.keras.layers.Dense(1)])


@tf.function
def update(states, actions, returns):
    with tf.GradientTape(persistent=True) as tape:
        critic_loss = tf.reduce_mean((critic(tf.concat([states, actions], 1)) - returns) ** 2)  # <- unused
        actor_loss = -tf.reduce_mean(critic(tf.concat([states, actor(states)], 1)))
    critic_gradients = tape.gradient(critic_loss, critic.trainable_variables)
    actor_gradients = tape.gradient(critic_loss, actor.trainable_variables)
    return critic_gradients, actor_gradients, actor_loss


update(tf.ones([4, 3]), tf.zeros([4, 2]), tf.ones([4, 1]))
# Advice: pass actor_loss as the target
