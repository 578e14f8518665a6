"""How far to zoom into a picture is to be learned, before a classifier that takes any size."""

import gradtape as tf

zoom = tf.Variable(1.3, name="zoom")
classifier = tf.keras.Sequential([tf.keras.layers.Conv2D(4, 3), tf.keras.layers.GlobalMaxPooling2D(), tf.keras.layers.Dense(2)])
pictures = tf.random.uniform([2, 16, 16, 3])


def zoomed(pictures):
    size = tf.cast(16.0 * zoom, tf.int32)  # <- not_floating
    larger = tf.image.resize(pictures, [size, size])
    return tf.image.resize_with_crop_or_pad(larger, 16, 16)


with tf.GradientTape() as tape:
    logits = classifier(zoomed(pictures))
    loss = tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits([0, 1], logits))
print(tape.gradient(loss, zoom))
# Advice: an interpolation
