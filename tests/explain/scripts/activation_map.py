"""A map of activations of another call than the one that gives the score."""

import gradtape as tf

inputs = tf.keras.Input([6, 6, 1])
features = tf.keras.layers.Conv2D(2, 3, activation="relu", name="last")(inputs)
outputs = tf.keras.layers.Dense(3)(tf.keras.layers.GlobalAveragePooling2D()(features))
model = tf.keras.Model(inputs, outputs)
maps_of = tf.keras.Model(inputs, model.get_layer("last").output)

image = tf.random.uniform([1, 6, 6, 1], seed=3)
with tf.GradientTape() as tape:
    maps = maps_of(image)
    tape.watch(maps)
    scores = model(image)
    best = tf.reduce_max(scores, axis=1)  # <- unused
gradients = tape.gradient(best, maps)
weights = tf.reduce_mean(gradients, axis=(0, 1, 2))
# Advice: `maps, scores = both(image)`
