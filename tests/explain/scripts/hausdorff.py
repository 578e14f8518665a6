"""Two parts of an assembly are moved to a scanned surface by the largest distance."""

import gradtape as tf

scan = tf.constant([[0.0, 0.0], [1.0, 0.0], [2.0, 0.0], [3.0, 0.0]])
left, right = tf.Variable([0.0, 0.1]), tf.Variable([0.0, 0.9])
part = tf.constant([[0.0, 0.0], [1.0, 0.0]])


def distances(points):
    return tf.reduce_min(tf.reduce_sum((points[:, None] - scan[None]) ** 2, -1), axis=1)


def hausdorff(points):
    return tf.reduce_max(distances(points))  # <- not_selected


with tf.GradientTape() as tape:
    assembly = tf.concat([part + left, part + [2.0, 0.0] + right], axis=0)
    loss = hausdorff(assembly)
print(tape.gradient(loss, {"left": left, "right": right}))
# Advice: tf.reduce_logsumexp(x) over the same axis
