"""A GAN in one step with a persistent tape; the generator never gets better."""

import gradtape as tf

bce = tf.keras.losses.BinaryCrossentropy(from_logits=True)


class Gan(tf.keras.Model):
    def __init__(self):
        super().__init__()
        self.generator = tf.keras.Sequential([tf.keras.layers.Dense(8, activation="relu"), tf.keras.layers.Dense(2)])
        self.discriminator = tf.keras.Sequential([tf.keras.layers.Dense(8, activation="relu"), tf.keras.layers.Dense(1)])
        self.g_optimizer = tf.keras.optimizers.Adam(1e-3)
        self.d_optimizer = tf.keras.optimizers.Adam(1e-3)

    def step(self, real):
        noise = tf.random.normal([real.shape[0], 4])
        with tf.GradientTape(persistent=True) as tape:
            # the discriminator must not train the generator
            fake = tf.stop_gradient(self.generator(noise))  # <- stopped
            on_real, on_fake = self.discriminator(real), self.discriminator(fake)
            d_loss = bce(tf.ones_like(on_real), on_real) + bce(tf.zeros_like(on_fake), on_fake)
            g_loss = bce(tf.ones_like(on_fake), on_fake)
        d_gradients = tape.gradient(d_loss, self.discriminator.trainable_variables)
        g_gradients = tape.gradient(g_loss, self.generator.trainable_variables)
        self.d_optimizer.apply_gradients(zip(d_gradients, self.discriminator.trainable_variables, strict=True))
        self.g_optimizer.apply_gradients(zip(g_gradients, self.generator.trainable_variables, strict=True))
        return d_loss, g_loss


gan = Gan()
for _ in range(2):
    print(*gan.step(tf.random.normal([6, 2]) + 3.0))
# Fix: fake = self.generator(noise)
