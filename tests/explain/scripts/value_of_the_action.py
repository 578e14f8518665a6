"""Values of the chosen actions are picked by NumPy."""

import numpy as np

import gradtape as tf

q_net = tf.keras.Sequential([tf.keras.layers.Dense(8, activation="relu"), tf.keras.layers.Dense(2)])
optimizer = tf.keras.optimizers.Adam()


def update(states, actions, targets):
    with tf.GradientTape() as tape:
        q = q_net(states)
        chosen = q.numpy()[np.arange(len(actions)), actions]  # <- left_library
        loss = tf.reduce_mean(tf.square(targets - chosen))
    gradients = tape.gradient(loss, q_net.trainable_variables)
    optimizer.apply_gradients(zip(gradients, q_net.trainable_variables, strict=True))


update(tf.ones([3, 4]), np.array([0, 1, 1]), np.array([1.0, 0.5, 0.2], "float32"))
# Fix: tf.gather_nd(q,
