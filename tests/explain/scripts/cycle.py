"""A cycle between two domains of speakers, in a train step of Keras's."""

import gradtape as tf


def mapping():
    return tf.keras.Sequential([tf.keras.layers.Dense(8, activation="tanh"), tf.keras.layers.Dense(4)])


class Cycle(tf.keras.Model):
    def __init__(self):
        super().__init__()
        self.to_low, self.to_high = mapping(), mapping()

    def call(self, voices):
        return self.to_high(self.to_low(voices))

    def train_step(self, data):
        high, low = data
        with tf.GradientTape() as tape:
            fake_low = self.to_low(high)
            back = self.to_low(fake_low)  # <- wrong_object
            loss = tf.reduce_mean(tf.abs(back - high)) + tf.reduce_mean((fake_low - low) ** 2)
        gradients = tape.gradient(loss, self.trainable_variables)
        self.optimizer.apply_gradients(zip(gradients, self.trainable_variables, strict=True))
        return {"loss": loss}


model = Cycle()
model(tf.zeros([1, 4]))
model.compile(optimizer="adam")
model.fit(tf.random.normal([8, 4]), tf.random.normal([8, 4]), batch_size=4, verbose=0)
# Advice: call `self.to_high` there
