"""Two scans are brought together by their mutual information, from soft bins."""

import gradtape as tf

fixed = tf.constant([0.1, 0.4, 0.9, 0.6, 0.2, 0.8])
moving = tf.constant([0.2, 0.5, 0.8, 0.7, 0.1, 0.9])
centers = tf.linspace(0.0, 1.0, 5)


def bins(values):
    return tf.nn.relu(1.0 - 4.0 * tf.abs(values[:, None] - centers))


def information(a, b):
    joint = tf.transpose(bins(a)) @ bins(b)
    joint = joint / tf.reduce_sum(joint)
    apart = tf.reduce_sum(joint, 1, keepdims=True) * tf.reduce_sum(joint, 0, keepdims=True)
    return tf.reduce_sum(joint * tf.math.log(joint / apart))  # <- nan_origin


contrast = tf.Variable(0.9)
with tf.GradientTape() as tape:
    loss = -information(fixed, contrast * moving)
print(loss, tape.gradient(loss, contrast))
