"""A temperature that was not to be trained at first is to be calibrated now."""

import gradtape as tf


class Calibrated:
    def __init__(self, model):
        self.model = model
        self.temperature = tf.Variable(1.0, trainable=False, name="temperature")

    def logits(self, x):
        return self.model(x) / self.temperature  # <- not_trainable


model = tf.keras.Sequential([tf.keras.layers.Dense(8, activation="relu"), tf.keras.layers.Dense(3)])
calibrated = Calibrated(model)
x, labels = tf.random.normal([16, 4]), tf.random.uniform([16], 0, 3, tf.int32)


@tf.function
def loss_and_gradient():
    with tf.GradientTape() as tape:
        logits = calibrated.logits(x)
        loss = tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(labels, logits))
    return loss, tape.gradient(loss, calibrated.temperature)


model(x)
print(loss_and_gradient())
# Fix: tape.watch(calibrated.temperature)
