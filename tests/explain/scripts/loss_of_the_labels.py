"""A train step that compares the labels with themselves."""

import gradtape as tf


class Net(tf.keras.Model):
    def __init__(self):
        super().__init__()
        self.dense = tf.keras.layers.Dense(1)
        self.mse = tf.keras.losses.MeanSquaredError()

    def call(self, x):
        return self.dense(x)

    def train_step(self, data):
        x, y = data
        with tf.GradientTape() as tape:
            y_pred = self(x, training=True)
            loss = self.mse(y, y)  # <- unused
        grads = tape.gradient(loss, self.trainable_variables)
        return {"loss": loss, "mean": tf.reduce_mean(y_pred), "slope": tf.reduce_sum(grads[0])}


model = Net()
model.compile("adam")
model.fit(tf.ones([4, 2]), tf.ones([4, 1]), epochs=1, verbose=0)
# Advice: compute loss from what that gives
