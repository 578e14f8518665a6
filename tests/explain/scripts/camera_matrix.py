"""The focal length of a camera, from points that were seen; the matrix is made of its entries."""

import gradtape as tf

focal = tf.Variable(500.0)
center = tf.Variable([320.0, 240.0])
points = tf.constant([[0.1, 0.2, 2.0], [-0.3, 0.1, 3.0], [0.2, -0.2, 2.5]])
seen = tf.constant([[345.0, 292.0], [268.0, 257.0], [361.0, 199.0]])


def camera():
    f, cx, cy = float(focal), center[0], center[1]  # <- left_library
    zero, one = tf.zeros([]), tf.ones([])
    return tf.stack([tf.stack([f, zero, cx]), tf.stack([zero, f, cy]), tf.stack([zero, zero, one])])


def project(matrix, points):
    image = points @ tf.transpose(matrix)
    return image[:, :2] / image[:, 2:]


with tf.GradientTape() as tape:
    error = tf.reduce_mean((project(camera(), points) - seen) ** 2)
slope_focal, slope_center = tape.gradient(error, [focal, center])
print(slope_focal, slope_center)
