"""The first loss of a generator, against a discriminator that is sure."""

import gradtape as tf

generator = tf.keras.layers.Dense(2, kernel_initializer="ones")
discriminator = tf.keras.layers.Dense(1, kernel_initializer=tf.keras.initializers.Constant(-100.0))


@tf.function
def step(noise):
    with tf.GradientTape() as tape:
        score = tf.sigmoid(discriminator(generator(noise)))  # <- saturated
        loss = tf.reduce_mean(tf.math.log(1.0 - score))
    return loss, tape.gradient(loss, generator.trainable_variables)


step(tf.ones([2, 3]))
# Advice: the logits
