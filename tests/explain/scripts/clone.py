"""A loss of the cloned model, and gradients of the original."""

import gradtape as tf

model = tf.keras.Sequential([tf.keras.Input((3,)), tf.keras.layers.Dense(2)])
frozen = tf.keras.models.clone_model(model)
frozen.set_weights(model.get_weights())
x, y = tf.ones([4, 3]), tf.zeros([4, 2])
with tf.GradientTape() as tape:
    old = frozen(x)  # <- wrong_object
    loss = tf.reduce_mean((old - y) ** 2)
tape.gradient(loss, model.trainable_variables)
# Advice: call `model` there
