"""The decoder embeds the words that the encoder chose."""

import gradtape as tf


class Translator(tf.keras.Model):
    def __init__(self):
        super().__init__()
        self.encoder = tf.keras.layers.Dense(6)
        self.embedding = tf.keras.layers.Embedding(6, 3)
        self.head = tf.keras.layers.Dense(2)

    def call(self, x):
        word = tf.argmax(self.encoder(x), axis=-1)  # <- not_differentiable
        return self.head(self.embedding(word))


model = Translator()
x, y = tf.random.normal([4, 5], seed=3), tf.zeros([4, 2])
with tf.GradientTape() as tape:
    loss = tf.reduce_mean((model(x) - y) ** 2)
tape.gradient(loss, model.encoder.trainable_variables)
# Advice: weigh the rows by a soft choice
