"""A loss over tokens that are all padding."""

import gradtape as tf

table = tf.Variable(tf.random.normal([5, 3], seed=1))
tokens, labels = tf.constant([[0, 0, 0]]), tf.constant([[1, 2, 0]])


@tf.function
def step():
    with tf.GradientTape() as tape:
        logits = tf.gather(table, tokens)
        each = tf.nn.sparse_softmax_cross_entropy_with_logits(labels, logits)
        mask = tf.cast(tokens != 0, tf.float32)
        loss = tf.reduce_sum(each * mask)  # <- masked_out
    return tape.gradient(loss, table)


step()
# Advice: check the mask
