"""The number of visitors of a museum, by a Poisson regression on columns as they come."""

import numpy as np

import gradtape as tf


def poisson_loss(y_true, y_pred):
    return tf.reduce_mean(tf.exp(y_pred) - y_true * y_pred)  # <- nan_origin


model = tf.keras.Sequential([tf.keras.layers.Dense(1, kernel_initializer="ones")])
model.compile(optimizer="adam", loss=poisson_loss)
columns = np.array([[0.0, 120.0], [1.0, 30.0], [0.0, 15.0]], "float32")  # a holiday or not, degrees
model.fit(columns, np.array([[400.0], [90.0], [60.0]], "float32"), batch_size=3, verbose=0)
# Advice: try smaller values
