"""A picture is fitted in display colors (sRGB); it has black pixels."""

import gradtape as tf

picture = tf.Variable([[0.0, 0.2, 0.5], [0.0, 0.0, 1.0]])
wanted = tf.constant([[0.1, 0.5, 0.7], [0.0, 0.1, 0.9]])


def to_display(linear):
    dark = 12.92 * linear
    bright = 1.055 * linear ** (1.0 / 2.4) - 0.055  # <- nan_origin
    return tf.where(linear <= 0.0031308, dark, bright)


@tf.function
def step(rate):
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean((to_display(picture) - wanted) ** 2)
    picture.assign_sub(rate * tape.gradient(loss, picture))
    return loss


print(step(0.1), step(0.1))
