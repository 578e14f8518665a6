"""Attention with a learned bias for each distance between two tokens."""

import gradtape as tf


class Attention(tf.Module):
    def __init__(self, width, longest):
        self.q = tf.Variable(tf.random.normal([width, width]))
        self.k = tf.Variable(tf.random.normal([width, width]))
        self.bias = tf.Variable(tf.zeros([2 * longest - 1]), trainable=False)
        self.longest = longest

    def __call__(self, x):
        length = x.shape[1]
        steps = tf.range(length)
        distance = steps[:, None] - steps[None, :] + self.longest - 1
        scores = tf.einsum("bid,bjd->bij", x @ self.q, x @ self.k)
        scores += tf.gather(self.bias, distance)  # <- not_trainable
        return tf.nn.softmax(scores / x.shape[-1] ** 0.5) @ x


attention = Attention(4, 16)
optimizer = tf.keras.optimizers.SGD(0.1)


def step(x, y):
    parameters = [attention.q, attention.k, attention.bias]
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean((attention(x) - y) ** 2)
    optimizer.apply_gradients(zip(tape.gradient(loss, parameters), parameters, strict=True))


step(tf.random.normal([2, 5, 4]), tf.random.normal([2, 5, 4]))
