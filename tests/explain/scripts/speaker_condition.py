"""A vocoder that may be conditioned on the speaker."""

import gradtape as tf


class Vocoder(tf.keras.Model):
    def __init__(self, speakers=None):
        super().__init__()
        self.frames = tf.keras.layers.Conv1D(8, 3, padding="same", activation="tanh")
        self.speaker = tf.keras.layers.Embedding(4, 8)
        self.wave = tf.keras.layers.Conv1D(1, 3, padding="same")
        self.speakers = speakers

    def call(self, mel, who):
        hidden = self.frames(mel)
        hidden = hidden + self.speaker(who)[:, None] if self.speakers else hidden  # <- branch_not_taken
        return self.wave(hidden)


model = Vocoder()
model.speaker.build(None)
mel, who, wave = tf.random.normal([2, 10, 6]), tf.constant([0, 3]), tf.random.normal([2, 10, 1])


def spectral_loss(made, wanted):
    return tf.reduce_mean(tf.abs(tf.abs(tf.signal.rfft(made[..., 0])) - tf.abs(tf.signal.rfft(wanted[..., 0]))))


with tf.GradientTape() as tape:
    loss = spectral_loss(model(mel, who), wave)
print(tape.gradient(loss, model.trainable_variables))
# Advice: make `self.speakers` true there
