"""A critic with spectral normalization, whose power iteration starts at zeros."""

import gradtape as tf


class Normalized(tf.Module):
    def __init__(self, inputs, outputs):
        self.kernel = tf.Variable(tf.random.normal([inputs, outputs]))
        self.u = tf.Variable(tf.zeros([1, outputs]), trainable=False)

    def normalized(self):
        v, _ = tf.linalg.normalize(self.u @ tf.transpose(self.kernel))  # <- nan_origin
        u, _ = tf.linalg.normalize(v @ self.kernel)
        self.u.assign(u)
        sigma = v @ self.kernel @ tf.transpose(u)
        return self.kernel / sigma

    def __call__(self, x):
        return x @ self.normalized()


critic = Normalized(4, 2)
real, fake = tf.random.normal([5, 4]), tf.random.normal([5, 4])
with tf.GradientTape() as tape:
    loss = tf.reduce_mean(critic(fake)) - tf.reduce_mean(critic(real))
print(tape.gradient(loss, critic.kernel))
# Advice: start critic.u at other values
