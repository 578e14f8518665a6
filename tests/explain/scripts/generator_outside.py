"""A generator's loss from scores that only the other tape saw."""

import gradtape as tf

generator = tf.keras.Sequential([tf.keras.layers.Input([3]), tf.keras.layers.Dense(4)])
discriminator = tf.keras.Sequential([tf.keras.layers.Input([4]), tf.keras.layers.Dense(1)])
bce = tf.keras.losses.BinaryCrossentropy(from_logits=True)


@tf.function
def train_step(real, noise):
    with tf.GradientTape() as gen_tape:
        fake = generator(noise, training=True)
    with tf.GradientTape() as disc_tape:
        real_out = discriminator(real, training=True)
        fake_out = discriminator(fake, training=True)  # <- other_tape
        g_loss = bce(tf.ones_like(fake_out), fake_out)
        d_loss = bce(tf.ones_like(real_out), real_out) + bce(tf.zeros_like(fake_out), fake_out)
    g_grads = gen_tape.gradient(g_loss, generator.trainable_variables)
    d_grads = disc_tape.gradient(d_loss, discriminator.trainable_variables)
    return g_grads, d_grads


train_step(tf.ones([2, 4]), tf.ones([2, 3]))
# Fix: g_loss = bce(
