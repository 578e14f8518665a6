"""A variational autoencoder, trained by `fit`."""

import numpy as np

import gradtape as tf

keras = tf.keras


class Variational(keras.Model):
    def __init__(self, size):
        super().__init__()
        self.encoder = keras.layers.Dense(2 * size)
        self.decoder = keras.layers.Dense(6, activation="sigmoid")

    def call(self, x):
        mean, log_variance = tf.split(self.encoder(x), 2, axis=-1)
        z = mean + tf.exp(0.5 * log_variance) * tf.random.normal(tf.shape(mean))
        self.add_loss(-0.5 * tf.reduce_mean(1.0 + log_variance - mean**2 - tf.exp(log_variance)))
        return self.decoder(z)


model = Variational(2)
model.compile(optimizer="adam", loss="binary_crossentropy")
x = np.random.default_rng(0).uniform(size=(16, 6)).astype("float32")
model.fit(x, x, epochs=2, batch_size=8, verbose=0)
