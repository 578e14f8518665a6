"""A network for the gain of an antenna, all weights of which start at zero."""

import gradtape as tf


class Net(tf.Module):
    def __init__(self):
        self.w1, self.b1 = tf.Variable(tf.zeros([2, 6])), tf.Variable(tf.zeros([6]))
        self.w2, self.b2 = tf.Variable(tf.zeros([6, 1])), tf.Variable(tf.zeros([1]))

    def __call__(self, x):
        hidden = tf.tanh(x @ self.w1 + self.b1)
        return hidden @ self.w2 + self.b2  # <- zero_factor


net = Net()
optimizer = tf.keras.optimizers.Adam()
angles, gains = tf.random.uniform([10, 2]), tf.random.uniform([10, 1])
with tf.GradientTape() as tape:
    loss = tf.reduce_mean((net(angles) - gains) ** 2)
gradients = tape.gradient(loss, net.trainable_variables)
for variable, gradient in zip(net.trainable_variables, gradients, strict=True):
    print(variable.shape, float(tf.norm(gradient)))
# Advice: start net.w2 at other values
