"""Prototypes that are computed once before the epochs."""

import gradtape as tf

embed = tf.keras.layers.Dense(2)
support, query = tf.random.normal([3, 4], seed=1), tf.random.normal([3, 4], seed=2)
prototypes = embed(support)
for _ in range(2):
    with tf.GradientTape() as tape:
        gaps = tf.reduce_sum((tf.stop_gradient(embed(query)) - prototypes) ** 2, axis=1)  # <- stopped
        loss = tf.reduce_mean(gaps)
    grads = tape.gradient(loss, embed.trainable_variables)
