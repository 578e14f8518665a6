"""An actor and its critic, with a target network: each tape asks for its own."""

import gradtape as tf

actor, critic, target = tf.keras.layers.Dense(1, activation="tanh"), tf.keras.layers.Dense(1), tf.keras.layers.Dense(1)
states, rewards, following = tf.random.normal([6, 3]), tf.random.normal([6, 1]), tf.random.normal([6, 3])


def joined(states, actions):
    return tf.concat([states, actions], axis=1)


for _ in range(2):
    with tf.GradientTape(persistent=True) as tape:
        wanted = tf.stop_gradient(rewards + 0.9 * target(joined(following, actor(following))))
        critic_loss = tf.reduce_mean((critic(joined(states, actor(states))) - wanted) ** 2)
        actor_loss = -tf.reduce_mean(critic(joined(states, actor(states))))
    for loss, network in ((critic_loss, critic), (actor_loss, actor)):
        for variable, gradient in zip(network.trainable_variables, tape.gradient(loss, network.trainable_variables), strict=True):
            variable.assign_sub(0.01 * gradient)
    for kept, new in zip(target.variables, critic.variables, strict=True):
        kept.assign(0.99 * kept + 0.01 * new)
