"""The gradient of a score by an image that is an argument."""

import gradtape as tf

model = tf.keras.Sequential([tf.keras.layers.Flatten(), tf.keras.layers.Dense(3)])


@tf.function
def saliency(image, label):
    with tf.GradientTape() as tape:
        scores = model(image)  # <- not_watched
        score = scores[0, label]
    return tape.gradient(score, image)


image = tf.random.normal([1, 4, 4, 1], seed=2)
saliency(image, 1)
