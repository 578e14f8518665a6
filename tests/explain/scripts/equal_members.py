"""Two members of an ensemble are to differ, and start equal."""

import gradtape as tf

one, two = [tf.keras.layers.Dense(2, kernel_initializer="ones", bias_initializer="ones") for _ in range(2)]
x = tf.random.normal([4, 3], seed=4)
with tf.GradientTape() as tape:
    gap = one(x) - two(x)
    loss = -tf.reduce_mean(gap**2)  # <- stationary
print(tape.gradient(loss, one.trainable_variables + two.trainable_variables))
# Advice: start from another
