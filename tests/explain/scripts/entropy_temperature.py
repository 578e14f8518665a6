"""Soft actor-critic tunes the temperature of its entropy."""

import gradtape as tf


class Agent:
    def __init__(self, actions):
        self.actor = tf.keras.layers.Dense(actions)
        self.log_alpha = tf.Variable(0.0)
        self.alpha = tf.exp(self.log_alpha)  # <- outside_tape
        self.target_entropy = -float(actions)
        self.optimizer = tf.keras.optimizers.Adam(3e-4)

    def log_probability(self, states):
        return tf.reduce_max(tf.nn.log_softmax(self.actor(states)), axis=-1)

    def update_temperature(self, states):
        with tf.GradientTape() as tape:
            log_p = self.log_probability(states)
            loss = -tf.reduce_mean(self.alpha * tf.stop_gradient(log_p + self.target_entropy))
        gradients = tape.gradient(loss, [self.log_alpha])
        self.optimizer.apply_gradients(zip(gradients, [self.log_alpha], strict=True))


agent = Agent(2)
for _ in range(2):
    agent.update_temperature(tf.random.normal([8, 3]))
# Advice: in a method, or a property, that runs under the tape
