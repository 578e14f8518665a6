"""The actor's loss uses the actions of the replay buffer."""

import gradtape as tf

actor = tf.keras.layers.Dense(1, activation="tanh")
actor.build([None, 3])
critic = tf.keras.layers.Dense(1)
critic.build([None, 4])


@tf.function
def train_actor(states, actions):
    with tf.GradientTape() as tape:
        value = critic(tf.concat([states, actions], axis=1))
        loss = -tf.reduce_mean(value)  # <- unused
    return tape.gradient(loss, actor.trainable_variables)


train_actor(tf.ones([5, 3]), tf.zeros([5, 1]))
# Advice: call `actor` under the tape
