"""A temperature that is a Python number by the time it is used."""

import gradtape as tf

temperature = tf.Variable(1.5)
logits, labels = tf.constant([[2.0, 1.0, 0.1]]), tf.constant([0])
with tf.GradientTape() as tape:
    scaled = logits / float(temperature)  # <- left_library
    loss = tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(labels, scaled))
tape.gradient(loss, temperature)
