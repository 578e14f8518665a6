"""Hard examples alone are trained, and none is hard."""

import gradtape as tf

model = tf.keras.layers.Dense(1, kernel_initializer="ones")
x, y = tf.constant([[1.0, 1.0], [2.0, 1.0]]), tf.constant([[1.9], [3.1]])
with tf.GradientTape() as tape:
    errors = (model(x) - y) ** 2
    hard = tf.boolean_mask(errors, errors > 0.5)  # <- masked_out
    loss = tf.reduce_sum(hard)
print(tape.gradient(loss, model.trainable_variables))
# Advice: check the condition
