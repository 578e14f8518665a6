"""The input is watched after the model has run."""

import gradtape as tf

model = tf.keras.Sequential([tf.keras.layers.Dense(2)])
x = tf.random.normal([3, 4], seed=8)
with tf.GradientTape() as tape:
    y = model(x)
    tape.watch(x)
    loss = tf.reduce_sum(y**2)
print(tape.gradient(loss, x))
