"""A softmax of inputs that are too large."""

import numpy as np

import gradtape as tf

W, b = tf.Variable(tf.zeros([12, 3])), tf.Variable(tf.zeros([3]))
images = np.random.default_rng(0).integers(0, 256, size=(4, 12)).astype("float32")
labels = np.eye(3, dtype="float32")[[0, 0, 0, 0]]


def train_step(x, y):
    with tf.GradientTape() as tape:
        pred = tf.nn.softmax(x @ W + b)  # <- saturated
        loss = -tf.reduce_sum(y * tf.math.log(pred + 1e-10))
    gW, gb = tape.gradient(loss, [W, b])
    W.assign_sub(0.5 * gW)
    b.assign_sub(0.5 * gb)
    return loss


for _ in range(2):
    float(train_step(images, labels))
# Advice: scale its input down
