"""The phases of a sound and of its copy are compared; between the notes there is nothing to hear."""

import gradtape as tf

time = tf.range(256.0) / 256.0
shift = tf.Variable(0.1)
envelope = tf.where(time < 0.5, 1.0, 0.0)
wanted = tf.sin(2.0 * 3.14159 * 20.0 * time)


def phases(sound):
    frames = tf.signal.frame(sound, 64, 64)
    return tf.math.angle(tf.signal.rfft(frames))  # <- nan_origin


with tf.GradientTape() as tape:
    sound = envelope * tf.sin(2.0 * 3.14159 * (20.0 * time + shift))
    difference = phases(sound) - phases(wanted)
    loss = tf.reduce_mean(1.0 - tf.cos(difference))
print(loss, tape.gradient(loss, shift))
# Advice: keep the number away from 0
