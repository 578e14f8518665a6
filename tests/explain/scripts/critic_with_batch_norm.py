"""A Wasserstein GAN whose critic ends in a batch normalization. The generator's gradient is 0."""

import gradtape as tf

generator = tf.keras.Sequential([tf.keras.layers.Dense(8, activation="tanh"), tf.keras.layers.Dense(2)])
critic = tf.keras.Sequential(
    [tf.keras.layers.Dense(8, activation="tanh"), tf.keras.layers.Dense(1), tf.keras.layers.BatchNormalization(center=False)]
)
noise = tf.random.normal([16, 3])
critic(generator(noise))
optimizer = tf.keras.optimizers.RMSprop(5e-5)
for _ in range(2):
    with tf.GradientTape() as tape:
        scores = critic(generator(noise), training=True)  # <- cancelled
        loss = -tf.reduce_mean(scores)
    gradients = tape.gradient(loss, generator.trainable_variables)
    print([float(tf.norm(g)) for g in gradients])
    optimizer.apply_gradients(zip(gradients, generator.trainable_variables, strict=True))
# Advice: no normalization takes away
