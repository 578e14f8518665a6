"""A vector quantizer whose codebook loss was forgotten."""

import gradtape as tf


class Quantizer(tf.keras.Model):
    def __init__(self):
        super().__init__()
        self.encoder = tf.keras.layers.Dense(2)
        self.decoder = tf.keras.layers.Dense(3)
        self.codebook = self.add_weight(name="codebook", shape=(4, 2), initializer="random_normal")

    def call(self, x):
        z = self.encoder(x)
        gaps = tf.reduce_sum((z[:, None] - self.codebook[None]) ** 2, axis=-1)
        q = tf.gather(self.codebook, tf.argmin(gaps, axis=1))
        q = z + tf.stop_gradient(q - z)  # <- stopped
        return self.decoder(q)


model = Quantizer()
model.compile("adam", "mse")
data = tf.random.normal([4, 3], seed=7)
model.fit(data, data, epochs=1, verbose=0)
# Advice: give q a loss of its own
