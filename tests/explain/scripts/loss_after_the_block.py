"""A train step whose loss stands below the block."""

import gradtape as tf


class Regressor(tf.keras.Model):
    def __init__(self):
        super().__init__()
        self.dense = tf.keras.layers.Dense(1)

    def call(self, x):
        return self.dense(x)

    def train_step(self, data):
        x, y = data
        with tf.GradientTape() as tape:
            y_pred = self(x, training=True)
        loss = tf.reduce_mean(tf.square(y - y_pred))  # <- outside_tape
        grads = tape.gradient(loss, self.trainable_variables)
        self.optimizer.apply_gradients(zip(grads, self.trainable_variables, strict=True))
        return {"loss": loss}


model = Regressor()
model.compile("sgd")
model.fit(tf.ones([4, 2]), tf.zeros([4, 1]), epochs=1, verbose=0)
