"""A picture is shifted by a learned amount, with bilinear interpolation: tf.floor only chooses the pixels."""

import gradtape as tf

shift = tf.Variable([0.3, 0.6])
picture = tf.random.uniform([6, 6], seed=2)
wanted = tf.random.uniform([4, 4], seed=3)


def sampled(offset):
    rows, columns = tf.meshgrid(tf.range(4.0), tf.range(4.0), indexing="ij")
    y, x = rows + offset[0], columns + offset[1]
    top, left = tf.floor(y), tf.floor(x)
    dy, dx = y - top, x - left

    def at(row, column):
        return tf.gather_nd(picture, tf.cast(tf.stack([row, column], -1), tf.int32))

    upper = at(top, left) * (1 - dx) + at(top, left + 1) * dx
    lower = at(top + 1, left) * (1 - dx) + at(top + 1, left + 1) * dx
    return upper * (1 - dy) + lower * dy


with tf.GradientTape() as tape:
    loss = tf.reduce_mean((sampled(shift) - wanted) ** 2)
print(tape.gradient(loss, shift))
