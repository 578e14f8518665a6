"""A recurrent tagger with a learned first state."""

import gradtape as tf


class Tagger(tf.keras.Model):
    def __init__(self, units, tags):
        super().__init__()
        self.first = self.add_weight(shape=(1, units), initializer="normal", name="first")
        self.recurrent = tf.keras.layers.GRU(units, return_sequences=True)
        self.out = tf.keras.layers.Dense(tags)

    def call(self, tokens):
        start = tf.repeat(self.first, tf.shape(tokens)[0], axis=0)
        states = self.recurrent(tokens)
        return self.out(states), start


model = Tagger(4, 3)
cross_entropy = tf.keras.losses.SparseCategoricalCrossentropy(from_logits=True)
tokens, tags = tf.random.normal([2, 5, 6]), tf.zeros([2, 5], tf.int32)
with tf.GradientTape() as tape:
    logits, _ = model(tokens)
    loss = cross_entropy(tags, logits)  # <- unused
print(tape.gradient(loss, model.trainable_variables)[0])
# Advice: compute loss from what that gives
