"""The Jacobian of a model by inputs that are normalized before the tape."""

import gradtape as tf

model = tf.keras.Sequential([tf.keras.layers.Dense(4, activation="tanh"), tf.keras.layers.Dense(2)])
mean, deviation = tf.constant([1.0, 2.0, 3.0]), tf.constant([0.5, 1.0, 2.0])
raw = tf.random.normal([5, 3], seed=10)
inputs = (raw - mean) / deviation  # <- outside_tape
with tf.GradientTape() as tape:
    tape.watch(raw)
    outputs = model(inputs)
print(tape.batch_jacobian(outputs, raw))
