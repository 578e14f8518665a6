"""Several properties of molecules are predicted; where one was not measured the label is NaN."""

import numpy as np

import gradtape as tf


class Masked(tf.keras.Model):
    def __init__(self):
        super().__init__()
        self.dense = tf.keras.layers.Dense(2)

    def call(self, x):
        return self.dense(x)

    def train_step(self, data):
        x, y = data
        measured = tf.cast(~tf.math.is_nan(y), tf.float32)
        with tf.GradientTape() as tape:
            errors = tf.square(y - self(x))  # <- nan_origin
            loss = tf.reduce_sum(errors * measured) / tf.reduce_sum(measured)
        gradients = tape.gradient(loss, self.trainable_variables)
        self.optimizer.apply_gradients(zip(gradients, self.trainable_variables, strict=True))
        return {"loss": loss}


labels = np.array([[1.0, np.nan], [0.5, 2.0], [np.nan, 1.0], [0.1, 0.2]], "float32")
model = Masked()
model.compile(optimizer="sgd")
model.fit(np.ones((4, 3), "float32"), labels, batch_size=4, epochs=1, verbose=0)
# Fix: tf.where(tf.math.is_finite(y), y, 0.0)
