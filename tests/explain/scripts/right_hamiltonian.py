"""A Hamiltonian network learns the motion of a spring from derivatives of its energy."""

import gradtape as tf

energy = tf.keras.Sequential([tf.keras.layers.Dense(16, activation="tanh"), tf.keras.layers.Dense(1, use_bias=False)])
optimizer = tf.keras.optimizers.Adam(1e-2)


def motion(state):
    with tf.GradientTape() as tape:
        tape.watch(state)
        h = energy(state)
    slope = tape.gradient(h, state)
    return tf.stack([slope[:, 1], -slope[:, 0]], axis=1)


@tf.function
def train_step(state, velocity):
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean((motion(state) - velocity) ** 2)
    gradients = tape.gradient(loss, energy.trainable_variables)
    optimizer.apply_gradients(zip(gradients, energy.trainable_variables, strict=True))
    return loss


q = tf.random.normal([8, 2])
energy(q)
print([float(train_step(q, tf.stack([q[:, 1], -q[:, 0]], axis=1))) for _ in range(3)])
