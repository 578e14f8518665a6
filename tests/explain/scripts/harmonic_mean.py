"""A soft F1 by precision and recall, without a hit."""

import gradtape as tf

logits = tf.Variable([-200.0, -150.0, -300.0])
truth = tf.constant([1.0, 0.0, 1.0])


@tf.function
def step():
    with tf.GradientTape() as tape:
        p = tf.sigmoid(logits)
        hits = tf.reduce_sum(p * truth)
        precision, recall = hits / (tf.reduce_sum(p) + 1e-7), hits / tf.reduce_sum(truth)
        loss = 1.0 - 2.0 * precision * recall / (precision + recall)  # <- nan_origin
    return loss, tape.gradient(loss, logits)


step()
# Fix: or start from other values
