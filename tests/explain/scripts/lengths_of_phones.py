"""A length regulator as in FastSpeech: each phone is repeated as often as its duration says."""

import gradtape as tf


class LengthRegulator(tf.keras.layers.Layer):
    def __init__(self):
        super().__init__()
        self.duration = tf.keras.layers.Dense(1, activation="softplus", name="duration")

    def call(self, phones):
        durations = 1.0 + self.duration(phones)[:, 0]
        frames = tf.cast(durations, tf.int32)  # <- not_floating
        return tf.repeat(phones, frames, axis=0)


regulator, decoder = LengthRegulator(), tf.keras.layers.Dense(2)
phones = tf.random.normal([5, 3])
mel = tf.random.normal([40, 2])
with tf.GradientTape() as tape:
    frames = decoder(regulator(phones))
    loss = tf.reduce_mean((frames - mel[: frames.shape[0]]) ** 2)
variables = regulator.trainable_variables + decoder.trainable_variables
for variable, gradient in zip(variables, tape.gradient(loss, variables), strict=True):
    print(variable.name, None if gradient is None else gradient.shape)
# Advice: weights that follow it smoothly
