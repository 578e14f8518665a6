"""A neural equation that is integrated by a loop of NumPy."""

import numpy as np

import gradtape as tf

field = tf.keras.Sequential([tf.keras.layers.Dense(8, activation="tanh"), tf.keras.layers.Dense(2)])


def slope(state):
    return field(state[None, :]).numpy()[0]  # <- left_library


def integrate(state, steps, dt):
    path = [state]
    for _ in range(steps):
        k1 = slope(path[-1])
        k2 = slope(path[-1] + dt * k1)
        path.append(path[-1] + dt * (k1 + k2) / 2)
    return np.stack(path)


data = np.linspace(0.0, 1.0, 10, dtype="float32").reshape(5, 2)
with tf.GradientTape() as tape:
    path = integrate(data[0], 4, 0.1)
    loss = tf.reduce_mean((tf.convert_to_tensor(path) - data) ** 2)
print(tape.gradient(loss, field.trainable_variables))
# Fix: tf.stack(path)
