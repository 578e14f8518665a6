"""A GAN with one persistent tape and two optimizers; the discriminator sees fakes that are stopped."""

import gradtape as tf

bce = tf.keras.losses.BinaryCrossentropy(from_logits=True)
generator = tf.keras.Sequential([tf.keras.layers.Dense(8, activation="relu"), tf.keras.layers.Dense(2)])
discriminator = tf.keras.Sequential([tf.keras.layers.Dense(8), tf.keras.layers.LeakyReLU(), tf.keras.layers.Dense(1)])
g_optimizer, d_optimizer = tf.keras.optimizers.Adam(1e-3), tf.keras.optimizers.Adam(1e-3)
for _ in range(2):
    real = tf.random.normal([6, 2]) + 3.0
    with tf.GradientTape(persistent=True) as tape:
        fake = generator(tf.random.normal([6, 4]))
        on_real, on_stopped = discriminator(real), discriminator(tf.stop_gradient(fake))
        d_loss = bce(tf.ones_like(on_real), on_real) + bce(tf.zeros_like(on_stopped), on_stopped)
        g_loss = bce(tf.ones([6, 1]), discriminator(fake))
    for loss, network, optimizer in [(d_loss, discriminator, d_optimizer), (g_loss, generator, g_optimizer)]:
        gradients = tape.gradient(loss, network.trainable_variables)
        optimizer.apply_gradients(zip(gradients, network.trainable_variables, strict=True))
    del tape
    print(float(d_loss), float(g_loss))
