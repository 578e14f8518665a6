"""The share of positive predictions as a fairness penalty, in train_step."""

import gradtape as tf


class Fair(tf.keras.Model):
    def __init__(self):
        super().__init__()
        self.dense = tf.keras.layers.Dense(1)

    def call(self, x):
        return self.dense(x)

    def train_step(self, data):
        x, group = data
        with tf.GradientTape() as tape:
            positive = tf.cast(self(x) > 0.0, tf.float32)  # <- not_differentiable
            a = tf.reduce_mean(positive * group)
            b = tf.reduce_mean(positive * (1.0 - group))
            loss = (a - b) ** 2
        gradients = tape.gradient(loss, self.trainable_variables)
        self.optimizer.apply_gradients(zip(gradients, self.trainable_variables, strict=True))
        return {"loss": loss}


model = Fair()
model.compile("sgd")
model.fit(tf.random.normal([8, 3], seed=1), tf.constant([[1.0], [0.0]] * 4), verbose=0)
# Advice: tf.sigmoid(self(x))
