"""Center loss for faces. The centers should be learned by the optimizer, too."""

import gradtape as tf


class CenterLoss(tf.keras.layers.Layer):
    def __init__(self, classes, size, **kwargs):
        super().__init__(**kwargs)
        self.centers = self.add_weight(shape=(classes, size), initializer="zeros", trainable=False, name="centers")

    def call(self, features, labels):
        mine = tf.gather(self.centers, labels)  # <- not_trainable
        return tf.reduce_mean(tf.reduce_sum((features - mine) ** 2, axis=1))


backbone = tf.keras.Sequential([tf.keras.layers.Dense(8, activation="relu"), tf.keras.layers.Dense(3)])
center_loss = CenterLoss(4, 3)
faces, labels = tf.random.normal([10, 6]), tf.constant([0, 1, 2, 3, 0, 1, 2, 3, 0, 1])
with tf.GradientTape(persistent=True) as tape:
    features = backbone(faces)
    loss = center_loss(features, labels)
print(tape.gradient(loss, backbone.trainable_variables)[0].shape)
gradients = tape.gradient(loss, center_loss.weights)
print(gradients)
# Fix: tape.watch(center_loss.centers)
