"""An implicit quantile network for reinforcement learning."""

import numpy as np

import gradtape as tf

layers = tf.keras.layers


class Quantiles(tf.keras.Model):
    def __init__(self, actions, cosines=8):
        super().__init__()
        self.cosines = cosines
        self.body = layers.Dense(16, activation="relu")
        self.phi = layers.Dense(16, activation="relu")
        self.out = layers.Dense(actions)

    def call(self, states, taus):
        features = self.body(states)[:, None, :]
        angles = np.pi * tf.range(1, self.cosines + 1, dtype=tf.float32)
        embedded = self.phi(tf.cos(taus[..., None] * angles))
        mixed = features * embedded
        return self.out(tf.broadcast_to(features, tf.shape(mixed)))


net = Quantiles(3)
states, taus = tf.random.normal([4, 5]), tf.random.uniform([4, 6])
net(states, taus)
with tf.GradientTape() as tape:
    values = net(states, taus)
    error = 1.0 - values
    loss = tf.reduce_mean(tf.where(error > 0, taus[..., None] * error, (taus[..., None] - 1) * error))  # <- unused
for variable, gradient in zip(net.trainable_variables, tape.gradient(loss, net.trainable_variables), strict=True):
    print(variable.name, gradient is not None)
# Advice: compute loss from what that gives
