"""The generator's loss is computed from the scores of real pictures."""

import gradtape as tf

generator = tf.keras.Sequential([tf.keras.layers.Dense(4)])
discriminator = tf.keras.Sequential([tf.keras.layers.Dense(1)])
bce = tf.keras.losses.BinaryCrossentropy(from_logits=True)


@tf.function
def train_step(real, noise):
    with tf.GradientTape() as gen_tape, tf.GradientTape() as disc_tape:
        fake = generator(noise, training=True)
        real_score, fake_score = discriminator(real), discriminator(fake)
        gen_loss = bce(tf.ones_like(real_score), real_score)  # <- unused
        disc_loss = bce(tf.ones_like(real_score), real_score) + bce(tf.zeros_like(fake_score), fake_score)
    disc_tape.gradient(disc_loss, discriminator.trainable_variables)
    return gen_loss, gen_tape.gradient(gen_loss, generator.trainable_variables)


train_step(tf.ones([3, 4]), tf.ones([3, 2]))
# Advice: compute gen_loss from what that gives
