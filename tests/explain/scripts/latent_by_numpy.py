"""My first VAE. Only the decoder is trained."""

import numpy as np

import gradtape as tf


class Encoder(tf.keras.Model):
    def __init__(self, latent):
        super().__init__()
        self.hidden = tf.keras.layers.Dense(8, activation="relu")
        self.mean = tf.keras.layers.Dense(latent)
        self.deviation = tf.keras.layers.Dense(latent, activation="softplus")

    def call(self, x):
        h = self.hidden(x)
        return self.mean(h), self.deviation(h)


encoder, decoder = Encoder(2), tf.keras.layers.Dense(6)
x = tf.random.normal([7, 6])
with tf.GradientTape() as tape:
    mu, sigma = encoder(x)
    z = np.random.normal(mu, sigma).astype("float32")  # <- left_library
    reconstruction = decoder(z)
    loss = tf.reduce_mean((reconstruction - x) ** 2)
variables = encoder.trainable_variables + decoder.trainable_variables
gradients = tape.gradient(loss, variables)
print([g is None for g in gradients])
# Fix: mu + sigma * tf.random.normal
