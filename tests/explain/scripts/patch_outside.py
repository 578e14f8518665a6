"""An adversarial patch that the crop leaves out."""

import gradtape as tf

patch = tf.Variable(tf.ones([3, 3, 1]))
model = tf.keras.Sequential([tf.keras.layers.Flatten(), tf.keras.layers.Dense(2)])
picture = tf.zeros([12, 12, 1])
with tf.GradientTape() as tape:
    placed = picture + tf.image.pad_to_bounding_box(patch, 0, 9, 12, 12)
    view = tf.image.crop_to_bounding_box(placed, 4, 0, 8, 8)  # <- not_selected
    logits = model(view[None])
    loss = tf.reduce_mean(logits[:, 1])
print(tape.gradient(loss, patch))
# Advice: use what the target takes
