"""The inner model is a deep copy, and the outer one is asked."""

import copy

import gradtape as tf

model = tf.keras.Sequential([tf.keras.layers.Input([2]), tf.keras.layers.Dense(1)])
x, y = tf.ones([3, 2]), tf.zeros([3, 1])
fast = copy.deepcopy(model)
with tf.GradientTape() as tape:
    loss = tf.reduce_mean((fast(x) - y) ** 2)  # <- wrong_object
print(tape.gradient(loss, model.trainable_variables))
# Advice: call `model` there
