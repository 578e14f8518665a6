"""A generative adversarial network (Goodfellow et al. 2014): two models, two optimizers, one step.

Both losses come from one forward pass, so the tape is persistent: the critic's gradient stops at the images, the
generator's passes through them.
"""

import numpy as np

import gradtape as tf
from examples.command import command
from examples.data import digits, picture

keras = tf.keras
NOISE = 16


class Adversaries(keras.Model):
    """A generator of images from noise, and a discriminator of images into real (score > 0) and made (score < 0)."""

    def __init__(self):
        super().__init__()
        dense = keras.layers.Dense
        self.generator = keras.Sequential(
            [
                keras.Input([NOISE]),
                dense(64, activation="relu"),
                dense(128, activation="relu"),
                dense(64, activation="sigmoid"),
                keras.layers.Reshape([8, 8, 1]),
            ]
        )
        self.discriminator = keras.Sequential(
            [
                keras.Input([8, 8, 1]),
                keras.layers.Flatten(),
                dense(128),
                keras.layers.LeakyReLU(0.2),
                keras.layers.Dropout(0.3),
                dense(1),
            ]
        )
        self.generator_loss = keras.metrics.Mean("generator_loss")
        self.discriminator_loss = keras.metrics.Mean("discriminator_loss")

    def compile(self, generator_optimizer, discriminator_optimizer):
        super().compile()
        self.generator_optimizer = generator_optimizer
        self.discriminator_optimizer = discriminator_optimizer
        self.cross_entropy = keras.losses.BinaryCrossentropy(from_logits=True)

    @property
    def metrics(self):
        return [self.generator_loss, self.discriminator_loss]

    def train_step(self, images):
        noise = tf.random.normal([tf.shape(images)[0], NOISE])
        with tf.GradientTape(persistent=True) as tape:
            made = self.discriminator(self.generator(noise, training=True), training=True)
            real = self.discriminator(images, training=True)
            ones, zeros = tf.ones_like(real), tf.zeros_like(made)
            discriminator_loss = self.cross_entropy(0.9 * ones, real) + self.cross_entropy(zeros, made)
            generator_loss = self.cross_entropy(ones, made)
        for loss, model, optimizer in (
            (discriminator_loss, self.discriminator, self.discriminator_optimizer),
            (generator_loss, self.generator, self.generator_optimizer),
        ):
            optimizer.apply_gradients(zip(tape.gradient(loss, model.trainable_variables), model.trainable_variables, strict=True))
        self.generator_loss.update_state(generator_loss)
        self.discriminator_loss.update_state(discriminator_loss)
        return {metric.name: metric.result() for metric in self.metrics}


def main(epochs: int = 120, rows: int = 1437, seed: int = 0):
    """Train a generator of digits against a discriminator."""
    keras.utils.set_random_seed(seed)
    (images, _), _ = digits(rows)
    model = Adversaries()
    model.compile(keras.optimizers.Adam(1e-3, beta_1=0.5), keras.optimizers.Adam(1e-3, beta_1=0.5))
    noise = tf.random.normal([256, NOISE])
    before = distance(model.generator(noise), images)
    model.fit(images, epochs=epochs, batch_size=64, verbose=0)
    made = model.generator(noise).numpy()
    after = distance(made, images)
    print(f"mean image of the generator, distance from that of the data: {before:.3f} → {after:.3f}")
    print(picture(*made[:4]))
    return before, after


def distance(made, images) -> float:
    """The root mean square between the mean of images that were made and that of the data."""
    return float(np.sqrt(np.mean((np.mean(made, axis=0) - np.mean(images, axis=0)) ** 2)))


if __name__ == "__main__":
    command(main)
