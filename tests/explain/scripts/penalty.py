"""A penalty, and features, from before the tape."""

import gradtape as tf

model = tf.keras.Sequential([tf.keras.layers.Dense(4), tf.keras.layers.Dense(1)])
model.build((None, 3))
x, y = tf.ones([5, 3]), tf.zeros([5, 1])
penalty = tf.add_n([tf.nn.l2_loss(v) for v in model.trainable_variables])  # <- outside_tape
features = model.layers[0](x)
with tf.GradientTape() as tape:
    out = model.layers[1](features)
    loss = tf.reduce_mean((out - y) ** 2) + 1e-3 * penalty
grads = tape.gradient(loss, model.layers[0].trainable_variables)
