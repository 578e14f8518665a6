"""A variable of a layer that is frozen is trained by hand."""

import gradtape as tf

layer = tf.keras.layers.Dense(2, use_bias=False)
layer.build([None, 3])
layer.trainable = False
with tf.GradientTape() as tape:
    loss = tf.reduce_mean(layer(tf.ones([2, 3])) ** 2)
gradient = tape.gradient(loss, layer.kernel)
