"""Units that no input reaches."""

import gradtape as tf

w1 = tf.Variable(tf.random.stateless_normal([3, 6], [0, 1]))
b1 = tf.Variable(tf.zeros([6]))
w2 = tf.Variable(tf.random.stateless_normal([6, 1], [0, 2]))
x = tf.random.stateless_uniform([10, 3], [3, 4])


@tf.function
def loss_and_grads():
    with tf.GradientTape() as tape:
        h = tf.nn.relu(x @ w1 + b1)  # <- dead_relu
        loss = tf.reduce_mean((h @ w2 - 100.0) ** 2)
    return loss, tape.gradient(loss, [w1, b1])


b1.assign(tf.fill([6], -1000.0))
loss_and_grads()
# Advice: tf.nn.leaky_relu
