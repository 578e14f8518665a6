"""A diffusion model that also learns how strong the noise is; the schedule starts without noise."""

import math

import gradtape as tf

steps = 10
strength = tf.Variable(1.0, name="strength")
denoiser = tf.keras.Sequential([tf.keras.layers.Dense(16, activation="swish"), tf.keras.layers.Dense(4)])


def noise_level(step):
    return 1.0 - math.cos(0.5 * math.pi * step / steps)


def diffuse(x, step):
    noise = tf.random.normal(x.shape)
    level = noise_level(step)
    return math.sqrt(1.0 - level) * x + level * strength * noise, noise  # <- zero_factor


x = tf.random.normal([8, 4])
denoiser(x)
for step in range(2):
    with tf.GradientTape() as tape:
        noisy, noise = diffuse(x, step)
        loss = tf.reduce_mean((denoiser(noisy) - noise) ** 2)
    gradients = tape.gradient(loss, [strength, *denoiser.trainable_variables])
    print(step, gradients[0])
# Advice: give level other values
