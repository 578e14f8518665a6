"""The probability of a long sequence by the forward algorithm, without logarithms."""

import gradtape as tf

logits = tf.Variable([[1.0, 0.0], [0.0, 1.0]])
emissions = tf.constant([[0.02, 0.03]] * 60)


@tf.function
def likelihood():
    trans = tf.nn.softmax(logits)
    return tf.scan(lambda a, e: (a @ trans) * e, emissions[:, None, :], initializer=tf.ones([1, 2]) / 2)  # <- underflow


with tf.GradientTape() as tape:
    total = tf.reduce_sum(likelihood()[-1])
print(tape.gradient(total, logits))
# Advice: with logarithms
