"""A mask of padding that is the wrong way round."""

import gradtape as tf

table = tf.Variable(tf.random.stateless_normal([10, 4], [0, 1]))
out = tf.Variable(tf.ones([4, 1]))


@tf.function
def step(tokens, target):
    with tf.GradientTape() as tape:
        vectors = tf.nn.embedding_lookup(table, tokens)
        mask = tf.cast(tf.equal(tokens, 0), tf.float32)[:, :, None]
        pooled = tf.reduce_sum(vectors * mask, axis=1)  # <- masked_out
        loss = tf.reduce_mean((pooled @ out - target) ** 2)
    return tape.gradient(loss, [out])


step(tf.constant([[1, 2, 3], [4, 5, 6]]), tf.ones([2, 1]))
# Advice: check the mask
