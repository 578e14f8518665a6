"""An actor whose tanh is at its limit."""

import gradtape as tf

actor = tf.keras.Sequential([tf.keras.layers.Dense(4), tf.keras.layers.Dense(1, activation="tanh")])
actor.build([None, 2])
target = tf.constant([[0.5], [0.2]])


@tf.function
def step(states):
    with tf.GradientTape() as tape:
        actions = actor(states)  # <- saturated
        loss = tf.reduce_mean((actions - target) ** 2)
    return tape.gradient(loss, actor.trainable_variables)


step(tf.constant([[5000.0, 4000.0], [3000.0, 9000.0]]))
# Advice: scale its input down
