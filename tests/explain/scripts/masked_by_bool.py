"""A soft attention that is made a bool before it masks."""

import gradtape as tf

attend = tf.keras.layers.Dense(1)
x = tf.random.normal([2, 5, 3], seed=4)


class Model(tf.keras.Model):
    def __init__(self):
        super().__init__()
        self.attend = tf.keras.layers.Dense(1, activation="sigmoid")

    def call(self, x):
        kept = tf.cast(self.attend(x), tf.bool)  # <- not_floating
        return tf.reduce_sum(tf.where(kept, x, 0.0), axis=1)


model = Model()
with tf.GradientTape() as tape:
    loss = tf.reduce_mean(model(x) ** 2)
print(tape.gradient(loss, model.trainable_variables))
# Advice: a soft mask
