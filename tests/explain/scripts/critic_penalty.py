"""A gradient penalty whose points between real and fake are not watched."""

import numpy as np

import gradtape as tf


class Critic(tf.keras.Model):
    def __init__(self):
        super().__init__()
        self.net = tf.keras.Sequential([tf.keras.layers.Dense(4, activation="tanh"), tf.keras.layers.Dense(1)])

    def call(self, x):
        return self.net(x)

    def train_step(self, real):
        fake = tf.random.normal(tf.shape(real), seed=5)
        with tf.GradientTape() as tape:
            alpha = tf.random.uniform([tf.shape(real)[0], 1], seed=7)
            between = real + alpha * (fake - real)  # <- not_watched
            with tf.GradientTape() as inner:
                scores = self.net(between)
            slopes = inner.gradient(scores, between)
            penalty = tf.reduce_mean((tf.norm(slopes, axis=1) - 1.0) ** 2)
            loss = tf.reduce_mean(self.net(fake)) - tf.reduce_mean(self.net(real)) + 10.0 * penalty
        gradients = tape.gradient(loss, self.trainable_variables)
        self.optimizer.apply_gradients(zip(gradients, self.trainable_variables, strict=True))
        return {"loss": loss}


model = Critic()
model.compile(optimizer="adam")
model.fit(np.ones((4, 2), "float32"), epochs=1, verbose=0)
# Fix: inner.watch(between)
