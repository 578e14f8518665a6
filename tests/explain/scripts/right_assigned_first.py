"""A picture is clipped by an assignment before it is used."""

import gradtape as tf

image = tf.Variable([0.2, 0.7, 1.4])
optimizer = tf.keras.optimizers.SGD(0.1)
for _ in range(3):
    with tf.GradientTape() as tape:
        image.assign(tf.clip_by_value(image, 0.0, 1.0))
        loss = tf.reduce_sum((image - 0.5) ** 2)
    gradient = tape.gradient(loss, image)
    optimizer.apply_gradients([(gradient, image)])
