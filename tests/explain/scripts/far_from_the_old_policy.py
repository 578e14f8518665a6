"""The ratio of a policy that is far from the old one."""

import gradtape as tf

new = tf.Variable([0.0, -1.0])


@tf.function
def step(old, advantage):
    with tf.GradientTape() as tape:
        ratio = tf.exp(new - old)  # <- nan_origin
        bounded = tf.clip_by_value(ratio, 0.8, 1.2)
        loss = -tf.reduce_mean(tf.minimum(ratio * advantage, bounded * advantage))
    return tape.gradient(loss, new)


step(tf.constant([-120.0, -1.1]), tf.constant([1.0, 1.0]))
