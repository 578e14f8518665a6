"""A hard choice with a soft gradient."""

import gradtape as tf

logits = tf.Variable([[0.3, 0.1, -0.4], [0.0, 1.0, 0.5]])
values = tf.constant([[1.0], [2.0], [4.0]])


def choose(logits, temperature=0.8):
    noise = -tf.math.log(-tf.math.log(tf.random.uniform(tf.shape(logits), 1e-6, 1.0 - 1e-6, seed=3)))
    soft = tf.nn.softmax((logits + noise) / temperature)
    hard = tf.one_hot(tf.argmax(soft, -1), 3)
    return tf.stop_gradient(hard - soft) + soft


with tf.GradientTape() as tape:
    loss = tf.reduce_mean((choose(logits) @ values - 2.5) ** 2)
print(tape.gradient(loss, logits))
