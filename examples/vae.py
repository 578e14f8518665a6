"""A variational autoencoder (Kingma and Welling 2014): a random layer, and a loss of two parts in `train_step`."""

import gradtape as tf
from examples.command import command
from examples.data import digits, picture

keras = tf.keras
LATENT = 4


class Sampling(keras.layers.Layer):
    """A draw from the normal distribution with this mean and logarithm of the variance."""

    def __init__(self, **options):
        super().__init__(**options)
        self.seed_generator = keras.random.SeedGenerator()

    def call(self, inputs):
        mean, log_variance = inputs
        noise = keras.random.normal(tf.shape(mean), seed=self.seed_generator)
        return mean + tf.exp(0.5 * log_variance) * noise


def make_encoder():
    inputs = keras.Input([8, 8, 1])
    values = keras.layers.Conv2D(16, 3, strides=2, padding="same", activation="relu")(inputs)
    values = keras.layers.Dense(32, activation="relu")(keras.layers.Flatten()(values))
    mean, log_variance = keras.layers.Dense(LATENT)(values), keras.layers.Dense(LATENT)(values)
    return keras.Model(inputs, [mean, log_variance, Sampling()([mean, log_variance])])


def make_decoder():
    inputs = keras.Input([LATENT])
    values = keras.layers.Reshape([4, 4, 16])(keras.layers.Dense(4 * 4 * 16, activation="relu")(inputs))
    return keras.Model(inputs, keras.layers.Conv2DTranspose(1, 3, strides=2, padding="same")(values))


class Autoencoder(keras.Model):
    """Encoder and decoder, trained on the evidence lower bound."""

    def __init__(self):
        super().__init__()
        self.encoder, self.decoder = make_encoder(), make_decoder()
        self.parts = [keras.metrics.Mean(name) for name in ("loss", "reconstruction", "divergence")]

    @property
    def metrics(self):
        return self.parts

    def train_step(self, images):
        with tf.GradientTape() as tape:
            mean, log_variance, z = self.encoder(images, training=True)
            scores = self.decoder(z, training=True)
            error = tf.nn.sigmoid_cross_entropy_with_logits(labels=images, logits=scores)
            reconstruction = tf.reduce_mean(tf.reduce_sum(error, axis=[1, 2, 3]))
            divergence = -0.5 * tf.reduce_sum(1 + log_variance - tf.square(mean) - tf.exp(log_variance), axis=1)
            divergence = tf.reduce_mean(divergence)
            loss = reconstruction + divergence
        gradients = tape.gradient(loss, self.trainable_weights)
        self.optimizer.apply_gradients(zip(gradients, self.trainable_weights, strict=True))
        for metric, value in zip(self.parts, (loss, reconstruction, divergence), strict=True):
            metric.update_state(value)
        return {metric.name: metric.result() for metric in self.parts}


def main(epochs: int = 30, rows: int = 1437, seed: int = 0):
    """Learn four numbers that say what a digit looks like."""
    keras.utils.set_random_seed(seed)
    (images, _), (unseen, _) = digits(rows)
    model = Autoencoder()
    model.compile(keras.optimizers.Adam(3e-3))
    losses = model.fit(images, epochs=epochs, batch_size=64, verbose=0).history["loss"]
    mean, _, _ = model.encoder.predict(unseen[:3], verbose=0)
    again = tf.sigmoid(model.decoder(mean)).numpy()
    print(f"evidence lower bound: −{losses[0]:.2f} → −{losses[-1]:.2f} nats a digit")
    print("three digits that it has not seen, and what it makes of their four numbers:")
    print(picture(*unseen[:3], *again))
    return losses, again


if __name__ == "__main__":
    command(main)
