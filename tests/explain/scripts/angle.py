"""The angle between a rotation and itself."""

import gradtape as tf

q = tf.Variable([1.0, 0.0, 0.0, 0.0])
target = tf.constant([1.0, 0.0, 0.0, 0.0])
with tf.GradientTape() as tape:
    unit = q / tf.norm(q)
    dot = tf.clip_by_value(tf.reduce_sum(unit * target), -1.0, 1.0)
    angle = 2.0 * tf.acos(dot)  # <- nan_origin
    loss = angle**2
loss, tape.gradient(loss, q)
