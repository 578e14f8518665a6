"""Poses between key frames by slerp. The camera stands still for one frame, and everything is NaN."""

import gradtape as tf

frames = tf.Variable([[1.0, 0.0, 0.0, 0.0], [1.0, 0.0, 0.0, 0.0], [0.8, 0.6, 0.0, 0.0]])
measured = tf.constant([[0.99, 0.1, 0.0, 0.0], [0.95, 0.3, 0.0, 0.0]])


def slerp(q0, q1, t):
    dot = tf.reduce_sum(q0 * q1, axis=-1, keepdims=True)
    omega = tf.acos(dot)  # <- nan_origin
    sin = tf.sin(omega)
    return tf.sin((1.0 - t) * omega) / sin * q0 + tf.sin(t * omega) / sin * q1


with tf.GradientTape() as tape:
    between = slerp(frames[:-1], frames[1:], 0.5)
    loss = tf.reduce_mean((between - measured) ** 2)
gradient = tape.gradient(loss, frames)
print(gradient)
# Fix: tf.clip_by_value(dot
