"""A picture of the underground: the critic's part of the loss begins after some epochs."""

import gradtape as tf


class Inversion(tf.keras.Model):
    def __init__(self, begins=10):
        super().__init__()
        self.velocity = tf.keras.layers.Dense(4)
        self.critic = tf.keras.layers.Dense(1)
        self.begins = begins
        self.epoch = 0

    def call(self, waves):
        return self.velocity(waves)

    def train_step(self, data):
        waves, velocities = data
        factor = 1.0 if self.epoch >= self.begins else 0.0
        with tf.GradientTape() as tape:
            found = self(waves)
            misfit = tf.reduce_mean((found - velocities) ** 2)
            realism = -tf.reduce_mean(self.critic(found))
            loss = misfit + factor * realism  # <- zero_factor
        variables = self.trainable_variables
        self.optimizer.apply_gradients(zip(tape.gradient(loss, variables), variables, strict=True))
        return {"loss": loss}


model = Inversion()
model.critic.build([None, 4])
model.compile(optimizer="sgd")
model.fit(tf.random.normal([8, 6]), tf.random.normal([8, 4]), batch_size=8, verbose=0)
# Advice: give factor other values than 0
