"""A model that was frozen before it was built."""

import gradtape as tf

base = tf.keras.Sequential([tf.keras.layers.Dense(6, activation="tanh")])
base.trainable = False
model = tf.keras.Sequential([base, tf.keras.layers.Dense(2)])
x, y = tf.ones([4, 3]), tf.constant([0, 1, 1, 0])
loss_fn = tf.keras.losses.SparseCategoricalCrossentropy(from_logits=True)
with tf.GradientTape() as tape:
    loss = loss_fn(y, model(x))
grads = tape.gradient(loss, model.variables)
[g is None for g in grads]
