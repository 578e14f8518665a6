"""Style transfer: the picture is kept as a tensor between steps."""

import gradtape as tf

picture = tf.Variable(tf.random.uniform([1, 4, 4, 3], seed=1))
features = tf.keras.layers.Conv2D(2, 2)


def step(image):
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean(features(image) ** 2)
    gradient = tape.gradient(loss, image)
    if gradient is None:
        return None
    return tf.clip_by_value(image - 0.1 * gradient, 0.0, 1.0)


for _ in range(2):
    picture = step(picture)  # <- rebound
