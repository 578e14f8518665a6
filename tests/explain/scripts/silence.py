"""A spectral loss for a synthesizer of sounds; the envelope is silent at its end."""

import gradtape as tf

time = tf.range(256.0) / 256.0
pitch = tf.Variable(20.0)
volume = tf.Variable(0.7)
envelope = tf.where(time < 0.5, 1.0, 0.0)
wanted = 0.5 * tf.sin(2.0 * 3.14159 * 22.0 * time) + 0.01 * tf.random.normal([256])


def spectrum(sound):
    frames = tf.signal.stft(sound, frame_length=64, frame_step=32)
    power = tf.math.real(frames) ** 2 + tf.math.imag(frames) ** 2
    return tf.math.log(power)  # <- nan_origin


@tf.function
def step():
    with tf.GradientTape() as tape:
        sound = volume * envelope * tf.sin(2.0 * 3.14159 * pitch * time)
        loss = tf.reduce_mean(tf.abs(tf.exp(spectrum(sound)) - tf.exp(spectrum(wanted))))
    return loss, tape.gradient(loss, [pitch, volume])


print(*step())
# Fix: tf.maximum(power
