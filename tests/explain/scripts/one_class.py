"""A classifier with one output and a softmax."""

import gradtape as tf

model = tf.keras.Sequential([tf.keras.layers.Input([4]), tf.keras.layers.Dense(1)])
x, y = tf.random.normal([6, 4], seed=4), tf.constant([[1.0], [0.0], [1.0], [0.0], [1.0], [1.0]])
with tf.GradientTape() as tape:
    p = tf.nn.softmax(model(x))  # <- saturated
    loss = tf.reduce_mean((p - y) ** 2)
tape.gradient(loss, model.trainable_variables)
# Advice: try tf.sigmoid for one output
