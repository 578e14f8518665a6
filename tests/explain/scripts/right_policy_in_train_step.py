"""A policy with a baseline and an entropy, in Keras's train step."""

import gradtape as tf


class Policy(tf.keras.Model):
    def __init__(self):
        super().__init__()
        self.logits, self.value = tf.keras.layers.Dense(3), tf.keras.layers.Dense(1)

    def call(self, states):
        return self.logits(states), self.value(states)[:, 0]

    def train_step(self, data):
        states, returns = data
        with tf.GradientTape() as tape:
            logits, values = self(states)
            actions = tf.stop_gradient(tf.random.categorical(logits, 1)[:, 0])
            scores = -tf.nn.sparse_softmax_cross_entropy_with_logits(labels=actions, logits=logits)
            advantage = tf.stop_gradient(returns - values)
            probabilities = tf.nn.softmax(logits)
            entropy = -tf.reduce_sum(probabilities * tf.nn.log_softmax(logits), axis=1)
            loss = tf.reduce_mean(-scores * advantage + 0.5 * (returns - values) ** 2 - 0.01 * entropy)
        gradients = tape.gradient(loss, self.trainable_variables)
        self.optimizer.apply_gradients(zip(gradients, self.trainable_variables, strict=True))
        return {"loss": loss}


model = Policy()
model.compile(optimizer="adam")
model.fit(tf.random.normal([8, 4]), tf.random.normal([8]), batch_size=8, verbose=0)
