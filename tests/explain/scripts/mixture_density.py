"""The likelihood of a mixture, of a point far from all parts."""

import gradtape as tf

means, log_sigma = tf.Variable([-1.0, 1.0]), tf.Variable([-1.0, -1.0])
logits = tf.Variable([0.0, 0.0])


@tf.function
def nll(y):
    sigma = tf.exp(log_sigma)
    z = (y[:, None] - means) / sigma
    density = tf.exp(-0.5 * z**2) / (sigma * 2.5066)
    return -tf.reduce_mean(tf.math.log(tf.reduce_sum(tf.nn.softmax(logits) * density, axis=1)))  # <- nan_origin


with tf.GradientTape() as tape:
    loss = nll(tf.constant([0.5, 12.0]))
print(tape.gradient(loss, [means, log_sigma, logits]))
