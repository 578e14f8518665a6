"""The mean loss of the positive examples, of which there are none."""

import gradtape as tf

net = tf.keras.layers.Dense(1)


@tf.function
def step(x, labels):
    with tf.GradientTape() as tape:
        losses = (net(x)[:, 0] - 1.0) ** 2
        positives = tf.boolean_mask(losses, labels > 0)
        loss = tf.reduce_mean(positives)  # <- nan_origin
    return tape.gradient(loss, net.trainable_variables)


step(tf.ones([3, 2]), tf.constant([0, 0, 0]))
# Advice: the mean of none is NaN
