"""A model that is watched before it is built."""

import gradtape as tf

gen = tf.keras.Sequential([tf.keras.layers.Dense(2)])
z = tf.ones([1, 3])
with tf.GradientTape(watch_accessed_variables=False) as tape:
    tape.watch(gen.trainable_variables)
    loss = tf.reduce_sum(gen(z))  # <- not_watched
tape.gradient(loss, gen.trainable_variables)
# Advice: build the model before
