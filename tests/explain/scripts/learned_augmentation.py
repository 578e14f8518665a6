"""A learned contrast that is applied in a dataset."""

import gradtape as tf

contrast = tf.Variable(1.5)
images = tf.random.uniform([4, 2, 2, 1], seed=3)
dataset = tf.data.Dataset.from_tensor_slices(images).map(lambda image: image * contrast).batch(2)  # <- left_library
for batch in dataset:
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean(batch**2)
    grad = tape.gradient(loss, contrast)
# Advice: call `lambda image: image * contrast` under the tape
