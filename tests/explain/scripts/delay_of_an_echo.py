"""The delay of an echo is to be found by gradient descent."""

import gradtape as tf

rate = 100.0
time = tf.range(0.0, 1.0, 1.0 / rate)
pulse = tf.exp(-((time - 0.3) ** 2) / 0.002)
heard = pulse + 0.5 * tf.roll(pulse, 17, axis=0)

delay = tf.Variable(0.1, name="delay")
strength = tf.Variable(0.4, name="strength")


@tf.function
def with_echo(sound):
    shift = tf.cast(delay * rate, tf.int32)  # <- not_floating
    return sound + strength * tf.roll(sound, shift, axis=0)


@tf.function
def step():
    with tf.GradientTape() as tape:
        loss = tf.reduce_sum((with_echo(pulse) - heard) ** 2)
    return loss, tape.gradient(loss, [delay, strength])


loss, gradients = step()
print(loss, gradients)
# Advice: interpolate
