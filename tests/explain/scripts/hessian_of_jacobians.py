"""The curvature of an embedding, from two batch Jacobians."""

import gradtape as tf

tf.random.set_seed(1)
model = tf.keras.Sequential([tf.keras.layers.Dense(6, activation="tanh"), tf.keras.layers.Dense(2)])


def curvature(points):
    with tf.GradientTape(persistent=True) as tape:
        tape.watch(points)
        embedded = model(points)
    slopes = tape.batch_jacobian(embedded, points)  # <- other_tape
    return tape.gradient(slopes, points)


bent = curvature(tf.random.normal([4, 3]))
print(bent)
