"""A structural similarity of pictures that are quantized before."""

import gradtape as tf

w = tf.Variable(tf.random.uniform([1, 12, 12, 1], 0.0, 1.0, seed=2))
target = tf.random.uniform([1, 12, 12, 1], seed=3)


@tf.function
def step():
    with tf.GradientTape() as tape:
        levels = tf.round(w * 255.0)  # <- not_differentiable
        picture = levels / 255.0
        loss = 1.0 - tf.reduce_mean(tf.image.ssim(picture, target, 1.0))
    return tape.gradient(loss, w)


step()
