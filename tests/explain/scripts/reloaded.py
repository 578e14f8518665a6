"""The model is loaded from a copy after the loss."""

import gradtape as tf

model = tf.keras.Sequential([tf.keras.layers.Dense(2)])
model.build([None, 3])
with tf.GradientTape() as tape:
    loss = tf.reduce_mean(model(tf.ones([2, 3])) ** 2)
model = tf.keras.models.clone_model(model)  # <- wrong_object
model.build([None, 3])
tape.gradient(loss, model.trainable_variables)
# Advice: pass the variable that is used now
