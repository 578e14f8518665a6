"""A simulator in NumPy, called by tf.numpy_function in a train step."""

import numpy as np

import gradtape as tf


def simulate(force):
    return np.cumsum(force, axis=0).astype("float32")


controller = tf.keras.Sequential([tf.keras.layers.Dense(2)])
optimizer = tf.keras.optimizers.SGD(0.1)


@tf.function
def train_step(states, goal):
    with tf.GradientTape() as tape:
        force = controller(states)
        path = tf.numpy_function(simulate, [force], tf.float32)  # <- left_library
        loss = tf.reduce_mean((path - goal) ** 2)
    return tape.gradient(loss, controller.trainable_variables)


train_step(tf.ones([3, 2]), tf.zeros([3, 2]))
# Advice: tf.* counterparts
