"""Poses of a robot as rotation vectors (Rodrigues); the first pose is no rotation."""

import gradtape as tf

poses = tf.Variable([[0.0, 0.0, 0.0], [0.1, 0.2, -0.1]])
point, seen = tf.constant([1.0, 0.0, 0.0]), tf.constant([[1.0, 0.1, 0.0], [0.9, 0.0, 0.2]])


def rotate(vectors, p):
    angle = tf.sqrt(tf.reduce_sum(vectors**2, axis=1, keepdims=True))
    axis = vectors / angle  # <- nan_origin
    p = tf.broadcast_to(p, axis.shape)
    along = tf.reduce_sum(axis * p, axis=1, keepdims=True) * axis
    return p * tf.cos(angle) + tf.linalg.cross(axis, p) * tf.sin(angle) + along * (1.0 - tf.cos(angle))


def bundle_adjustment():
    with tf.GradientTape() as tape:
        error = tf.reduce_sum((rotate(poses, point) - seen) ** 2)
    return tape.gradient(error, poses)


print(bundle_adjustment())
