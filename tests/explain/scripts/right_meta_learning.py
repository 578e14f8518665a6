"""MAML with functional weights: the gradient flows through the inner step."""

import gradtape as tf

weights = [tf.Variable(tf.random.normal([1, 8])), tf.Variable(tf.random.normal([8, 1]))]
rate = tf.Variable(0.1)


def forward(x, weights):
    return tf.tanh(x @ weights[0]) @ weights[1]


def adapted(x, y):
    with tf.GradientTape() as inner:
        loss = tf.reduce_mean((forward(x, weights) - y) ** 2)
    return [w - rate * g for w, g in zip(weights, inner.gradient(loss, weights), strict=True)]


def meta_gradient(tasks):
    with tf.GradientTape() as outer:
        total = 0.0
        for x, y in tasks:
            total += tf.reduce_mean((forward(x, adapted(x, y)) - y) ** 2)
    return outer.gradient(total, [*weights, rate])


x = tf.random.uniform([6, 1])
print(meta_gradient([(x, tf.sin(x)), (x, tf.cos(x))]))
