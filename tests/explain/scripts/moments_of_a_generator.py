"""A GAN whose discriminator sees the moments of what the generator makes."""

import numpy as np

import gradtape as tf

keras = tf.keras
generator = keras.Sequential([keras.layers.Dense(8, activation="tanh"), keras.layers.Dense(1)])
discriminator = keras.Sequential([keras.layers.Dense(8, activation="relu"), keras.layers.Dense(1)])
optimizer = keras.optimizers.Adam(1e-3)
bce = keras.losses.BinaryCrossentropy(from_logits=True)


def moments_of(samples):
    mean = np.mean(samples)
    centered = samples - mean
    std = np.std(samples)
    return [mean, std, np.mean((centered / std) ** 3), np.mean((centered / std) ** 4)]


def train_generator(batch):
    noise = tf.random.uniform([batch, 1])
    with tf.GradientTape() as tape:
        fake = generator(noise)
        described = np.array(moments_of(fake.numpy()), "float32").reshape(1, 4)  # <- left_library
        decision = discriminator(described)
        loss = bce(tf.ones_like(decision), decision)
    gradients = tape.gradient(loss, generator.trainable_variables)
    optimizer.apply_gradients(zip(gradients, generator.trainable_variables, strict=True))
    return loss


train_generator(16)
# Advice: give `moments_of` the tensor itself
