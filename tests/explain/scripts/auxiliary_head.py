"""A head that runs with `training=True` alone."""

import numpy as np

import gradtape as tf


class Classifier(tf.keras.Model):
    def __init__(self):
        super().__init__()
        self.body = tf.keras.layers.Dense(4, activation="tanh")
        self.main = tf.keras.layers.Dense(2)
        self.aux = tf.keras.layers.Dense(2)
        self.body.build((None, 3))
        self.main.build((None, 4))
        self.aux.build((None, 4))

    def call(self, x, training=False):
        h = self.body(x)
        out = self.main(h)
        if training:  # <- branch_not_taken
            return out + 0.3 * self.aux(h)
        return out

    def train_step(self, data):
        x, y = data
        with tf.GradientTape() as tape:
            logits = self(x)
            loss = tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(y, logits))
        grads = tape.gradient(loss, self.trainable_variables)
        self.optimizer.apply_gradients([(g, v) for g, v in zip(grads, self.trainable_variables, strict=True) if g is not None])
        return {"loss": loss}


model = Classifier()
model.compile("sgd")
model.fit(np.ones((4, 3), "float32"), np.array([0, 1, 0, 1]), verbose=0)
