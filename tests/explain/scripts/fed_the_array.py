"""Which pixels matter for the class? I watch the image, but the gradient is None."""

import numpy as np

import gradtape as tf

model = tf.keras.Sequential(
    [
        tf.keras.layers.Conv2D(4, 3, activation="relu"),
        tf.keras.layers.GlobalAveragePooling2D(),
        tf.keras.layers.Dense(3, activation="softmax"),
    ]
)


def load_image(seed):
    return np.random.default_rng(seed).uniform(size=(1, 8, 8, 3)).astype("float32")


def saliency(picture, label):
    image = tf.convert_to_tensor(picture)
    with tf.GradientTape() as tape:
        tape.watch(image)
        predictions = model(picture)  # <- wrong_object
        score = predictions[:, label]
    gradient = tape.gradient(score, image)
    return tf.reduce_max(tf.abs(gradient), axis=-1)


print(saliency(load_image(1), 2))
# Fix: model(image)
