"""A network whose weights all start at 0."""

import gradtape as tf

w1, w2 = tf.Variable(tf.zeros([3, 4])), tf.Variable(tf.zeros([4, 1]))
x, y = tf.random.normal([6, 3], seed=4), tf.ones([6, 1])
with tf.GradientTape() as tape:
    h = tf.tanh(x @ w1)
    out = h @ w2  # <- zero_factor
    loss = tf.reduce_mean((out - y) ** 2)
grads = tape.gradient(loss, [w1, w2])
# Advice: start w2 at other values
