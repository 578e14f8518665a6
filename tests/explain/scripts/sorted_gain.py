"""A ranking loss of discounted gains, by the places of a sort."""

import numpy as np

import gradtape as tf


def negative_dcg(relevance, scores):
    order = tf.argsort(scores, direction="DESCENDING")  # <- not_floating
    ranks = tf.argsort(order)
    discounts = 1.0 / tf.math.log(2.0 + tf.cast(ranks, tf.float32))
    return -tf.reduce_sum(relevance * discounts, axis=-1)


class Ranker(tf.keras.Model):
    def __init__(self):
        super().__init__()
        self.score = tf.keras.layers.Dense(1)

    def call(self, x):
        return self.score(x)[..., 0]

    def train_step(self, data):
        x, relevance = data
        with tf.GradientTape() as tape:
            scores = self(x, training=True)
            loss = tf.reduce_mean(negative_dcg(relevance, scores))
        self.optimizer.apply_gradients(zip(tape.gradient(loss, self.trainable_variables), self.trainable_variables, strict=True))
        return {"loss": loss}


ranker = Ranker()
ranker.compile(optimizer="adam")
rng = np.random.default_rng(9)
ranker.fit(rng.normal(size=(2, 4, 3)).astype("float32"), rng.integers(0, 3, (2, 4)).astype("float32"), epochs=1, verbose=0)
# Advice: a soft rank
