"""Fakes of the discriminator's tape in the generator's."""

import gradtape as tf

generator = tf.keras.Sequential([tf.keras.layers.Dense(4, activation="tanh"), tf.keras.layers.Dense(2)])
discriminator = tf.keras.Sequential([tf.keras.layers.Dense(4, activation="tanh"), tf.keras.layers.Dense(1)])
bce = tf.keras.losses.BinaryCrossentropy(from_logits=True)
g_opt, d_opt = tf.keras.optimizers.Adam(), tf.keras.optimizers.Adam()


@tf.function
def train_step(real, noise):
    with tf.GradientTape() as tape:
        fake = generator(noise, training=True)  # <- other_tape
        d_real, d_fake = discriminator(real), discriminator(fake)
        d_loss = bce(tf.ones_like(d_real), d_real) + bce(tf.zeros_like(d_fake), d_fake)
    grads = tape.gradient(d_loss, discriminator.trainable_variables)
    d_opt.apply_gradients(zip(grads, discriminator.trainable_variables, strict=True))
    with tf.GradientTape() as tape:
        judged = discriminator(fake)
        g_loss = bce(tf.ones_like(judged), judged)
    grads = tape.gradient(g_loss, generator.trainable_variables)
    g_opt.apply_gradients(zip(grads, generator.trainable_variables, strict=True))
    return d_loss, g_loss


train_step(tf.ones([3, 2]), tf.ones([3, 5]))
