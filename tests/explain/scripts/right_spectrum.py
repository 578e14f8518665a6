"""A loss of spectra by a Fourier transform."""

import gradtape as tf

w = tf.Variable(tf.random.normal([8], seed=1))
reference = tf.random.normal([16], seed=2)
with tf.GradientTape() as tape:
    signal = tf.nn.conv1d(reference[None, :, None], w[:, None, None], 1, "SAME")[0, :, 0]
    spectrum = tf.signal.rfft(signal)
    loss = tf.reduce_mean(tf.math.log(tf.abs(spectrum) ** 2 + 1e-6))
print(tape.gradient(loss, w))
