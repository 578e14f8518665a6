"""Registration of two point clouds: the angle of the rotation is learned, its matrix is put together by hand."""

import numpy as np

import gradtape as tf

rng = np.random.default_rng(0)
source = tf.constant(rng.normal(size=(20, 2)), tf.float32)
c, s = np.cos(0.4), np.sin(0.4)
target = source @ tf.constant([[c, -s], [s, c]], tf.float32)


class Rotation(tf.Module):
    def __init__(self):
        super().__init__()
        self.angle = tf.Variable(0.0)
        self.shift = tf.Variable([0.0, 0.0])

    def matrix(self):
        cos, sin = tf.cos(self.angle), tf.sin(self.angle)
        return np.array([[cos, -sin], [sin, cos]], "float32")  # <- left_library

    def __call__(self, points):
        return points @ self.matrix() + self.shift


rotation = Rotation()
optimizer = tf.keras.optimizers.Adam(0.05)
for epoch in range(3):
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean(tf.square(rotation(source) - target))
    gradients = tape.gradient(loss, rotation.trainable_variables)
    print(epoch, gradients)
    optimizer.apply_gradients((g, v) for g, v in zip(gradients, rotation.trainable_variables, strict=True) if g is not None)
# Fix: tf.stack([[cos, -sin]
