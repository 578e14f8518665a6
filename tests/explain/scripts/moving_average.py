"""The gradients of all variables, those of a batch normalization with them."""

import gradtape as tf

model = tf.keras.Sequential([tf.keras.layers.Dense(4), tf.keras.layers.BatchNormalization(), tf.keras.layers.Dense(1)])
x, y = tf.random.normal([8, 3], seed=1), tf.ones([8, 1])
with tf.GradientTape() as tape:
    prediction = model(x, training=False)  # <- not_trainable
    loss = tf.reduce_mean((prediction - y) ** 2)
grads = tape.gradient(loss, model.variables)
