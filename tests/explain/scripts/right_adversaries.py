"""A step of a generator and a discriminator."""

import gradtape as tf

generator = tf.keras.Sequential([tf.keras.layers.Dense(4, activation="tanh"), tf.keras.layers.Dense(2)])
discriminator = tf.keras.Sequential([tf.keras.layers.Dense(4, activation="tanh"), tf.keras.layers.Dense(1)])
bce = tf.keras.losses.BinaryCrossentropy(from_logits=True)
g_opt, d_opt = tf.keras.optimizers.Adam(), tf.keras.optimizers.Adam()


@tf.function
def train_step(real, noise):
    with tf.GradientTape() as g_tape, tf.GradientTape() as d_tape:
        fake = generator(noise, training=True)
        d_real, d_fake = discriminator(real), discriminator(fake)
        g_loss = bce(tf.ones_like(d_fake), d_fake)
        d_loss = bce(tf.ones_like(d_real), d_real) + bce(tf.zeros_like(d_fake), d_fake)
    g_grads = g_tape.gradient(g_loss, generator.trainable_variables)
    d_grads = d_tape.gradient(d_loss, discriminator.trainable_variables)
    g_opt.apply_gradients(zip(g_grads, generator.trainable_variables, strict=True))
    d_opt.apply_gradients(zip(d_grads, discriminator.trainable_variables, strict=True))
    return g_loss, d_loss


train_step(tf.random.normal([4, 2], seed=1), tf.random.normal([4, 3], seed=2))
