"""A speech model is trained by the distance of what it decodes."""

import gradtape as tf

w = tf.Variable(tf.random.normal([2, 4], seed=1))
sound = tf.random.normal([5, 1, 2], seed=2)
labels = tf.sparse.from_dense(tf.constant([[1, 2]], tf.int64))
with tf.GradientTape() as tape:
    logits = tf.reshape(tf.reshape(sound, [5, 2]) @ w, [5, 1, 4])
    decoded, _ = tf.nn.ctc_greedy_decoder(logits, [5])  # <- not_differentiable
    loss = tf.reduce_mean(tf.edit_distance(decoded[0], labels))
print(tape.gradient(loss, w))
# Advice: tf.nn.ctc_loss
