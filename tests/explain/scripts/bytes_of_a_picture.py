"""Pictures are rounded to bytes before the second network."""

import gradtape as tf


class Compressor(tf.keras.Model):
    def __init__(self):
        super().__init__()
        self.encode = tf.keras.layers.Dense(2, activation="sigmoid")
        self.decode = tf.keras.layers.Dense(3)

    def train_step(self, data):
        x, _ = data
        with tf.GradientTape() as tape:
            code = self.encode(x)
            stored = tf.cast(255.0 * code, tf.uint8)  # <- not_floating
            out = self.decode(tf.cast(stored, tf.float32) / 255.0)
            loss = tf.reduce_mean((out - x) ** 2)
        variables = self.encode.trainable_variables + self.decode.trainable_variables
        grads = tape.gradient(loss, variables)
        self.optimizer.apply_gradients((g, v) for g, v in zip(grads, variables, strict=True) if g is not None)
        return {"loss": loss}


model = Compressor()
model.compile("sgd")
data = tf.random.uniform([4, 3], seed=1)
model.fit(data, data, epochs=1, verbose=0)
