"""The relative error of targets that are zero."""

import numpy as np

import gradtape as tf


def relative(y, p):
    return tf.reduce_mean(tf.abs((y - p) / y))  # <- inf_origin


model = tf.keras.Sequential([tf.keras.layers.Dense(1, kernel_initializer="ones")])
model.compile(optimizer="sgd", loss=relative)
model.fit(np.ones((4, 2), "float32"), np.array([[1.0], [0.0], [1.0], [1.0]], "float32"), epochs=1, verbose=0)
