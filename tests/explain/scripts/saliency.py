"""A batch that is made before its image is watched."""

import numpy as np

import gradtape as tf

net = tf.keras.Sequential([tf.keras.layers.Flatten(), tf.keras.layers.Dense(10)])


def saliency_map(model, image, label):
    image = tf.convert_to_tensor(image)
    batch = tf.expand_dims(image, 0)  # <- outside_tape
    with tf.GradientTape() as tape:
        tape.watch(image)
        scores = model(batch)
        score = scores[0, label]
    return tape.gradient(score, image)


picture = np.random.default_rng(1).normal(size=(4, 4, 3)).astype("float32")
saliency_map(net, picture, 3)
