"""The first step of a DCGAN in a new process: both networks from Keras's layers, two tapes, two Adams, in one function."""

import numpy as np

KEY = "hd"
TITLE = "cold: first step of a DCGAN, batch 32"
MEASURE = "first step"
TARGETS = {"tensorflow_function": 0.8, "tensorflow_eager": 0.8}

BATCH, NOISE = 32, 100


def networks(keras):
    """Make the generator of 28 x 28 images, and the discriminator."""
    layers = keras.layers
    generator = keras.Sequential([layers.Input((NOISE,)), layers.Dense(7 * 7 * 128, use_bias=False)])
    generator.add(layers.Reshape((7, 7, 128)))
    for filters, strides in ((64, 1), (32, 2)):
        generator.add(layers.BatchNormalization())
        generator.add(layers.LeakyReLU())
        generator.add(layers.Conv2DTranspose(filters, 5, strides, padding="same", use_bias=False))
    generator.add(layers.Conv2DTranspose(1, 5, 2, padding="same", use_bias=False, activation="tanh"))
    discriminator = keras.Sequential([layers.Input((28, 28, 1))])
    for filters in (64, 128):
        discriminator.add(layers.Conv2D(filters, 5, 2, padding="same"))
        discriminator.add(layers.LeakyReLU())
        discriminator.add(layers.Dropout(0.3))
    discriminator.add(layers.Flatten())
    discriminator.add(layers.Dense(1))
    return generator, discriminator


def tensorflow_step(tf, compiled=lambda function: function):
    keras = tf.keras
    generator, discriminator = networks(keras)
    entropy = keras.losses.BinaryCrossentropy(from_logits=True)
    optimizers = keras.optimizers.Adam(1e-4), keras.optimizers.Adam(1e-4)
    images = tf.constant(np.random.default_rng(0).standard_normal((BATCH, 28, 28, 1)).astype("float32"))

    @compiled
    def train(images):
        noise = tf.random.normal([BATCH, NOISE])
        with tf.GradientTape() as of_generator, tf.GradientTape() as of_discriminator:
            made = generator(noise, training=True)
            real, fake = discriminator(images, training=True), discriminator(made, training=True)
            loss_of_generator = entropy(tf.ones_like(fake), fake)
            loss = entropy(tf.ones_like(real), real) + entropy(tf.zeros_like(fake), fake)
        losses, tapes = (loss_of_generator, loss), (of_generator, of_discriminator)
        for network, tape, target, optimizer in zip((generator, discriminator), tapes, losses, optimizers, strict=True):
            gradients = tape.gradient(target, network.trainable_variables)
            optimizer.apply_gradients(zip(gradients, network.trainable_variables, strict=True))
        return losses

    return lambda: (train(images), [v.value for v in generator.trainable_variables])


def gradtape():
    import gradtape as tf

    return tensorflow_step(tf)


def tensorflow_eager():
    import tensorflow as tf

    return tensorflow_step(tf)


def tensorflow_function():
    import tensorflow as tf

    return tensorflow_step(tf, tf.function)
