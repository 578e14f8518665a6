"""A layer of another case."""

import gradtape as tf


class Model(tf.keras.Model):
    def __init__(self):
        super().__init__()
        self.dense = tf.keras.layers.Dense(3)
        self.norm = tf.keras.layers.LayerNormalization()

    def call(self, x, training=False):
        h = self.dense(x)
        match self.kind:  # <- branch_not_taken
            case "post":
                h = self.norm(h)
            case _:
                pass
        return h


model = Model()
model.kind = "post"
model(tf.ones([1, 3]))
model.kind = "none"
with tf.GradientTape() as tape:
    loss = tf.reduce_mean(model(tf.ones([2, 3])) ** 2)
print(tape.gradient(loss, model.norm.trainable_variables))
# Advice: make `self.kind` match that case
