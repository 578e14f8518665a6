"""A gradient penalty."""

import gradtape as tf

critic = tf.keras.Sequential([tf.keras.layers.Dense(4, activation="tanh"), tf.keras.layers.Dense(1)])


@tf.function
def step(real, fake):
    with tf.GradientTape() as tape:
        mixed = 0.5 * real + 0.5 * fake
        with tf.GradientTape() as inner:
            inner.watch(mixed)
            score = critic(mixed)
        slope = inner.gradient(score, mixed)
        norm = tf.sqrt(tf.reduce_sum(slope**2, axis=1) + 1e-12)
        loss = tf.reduce_mean(critic(fake)) - tf.reduce_mean(critic(real)) + tf.reduce_mean((norm - 1.0) ** 2)
    return tape.gradient(loss, [v for v in critic.trainable_variables if len(v.shape) == 2])


step(tf.ones([3, 2]), tf.zeros([3, 2]) + 0.3)
