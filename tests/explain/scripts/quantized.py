"""A quantizing autoencoder without a straight-through step."""

import numpy as np

import gradtape as tf


class Quantizer(tf.keras.Model):
    def __init__(self):
        super().__init__()
        self.encoder = tf.keras.layers.Dense(2)
        self.decoder = tf.keras.layers.Dense(3)
        self.codes = self.add_weight(name="codes", shape=(4, 2), initializer="random_normal")

    def call(self, x):
        z = self.encoder(x)
        distances = tf.reduce_sum((z[:, None] - self.codes[None]) ** 2, axis=-1)
        nearest = tf.argmin(distances, axis=1)  # <- not_differentiable
        return self.decoder(tf.gather(self.codes, nearest))

    def train_step(self, x):
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean((self(x) - x) ** 2)
        gradients = tape.gradient(loss, self.trainable_variables)
        self.optimizer.apply_gradients(zip(gradients, self.trainable_variables, strict=True))
        return {"loss": loss}


model = Quantizer()
model.compile(optimizer="adam")
model.fit(np.ones((4, 3), "float32"), epochs=1, verbose=0)
# Advice: tf.nn.softmax(-distances)
