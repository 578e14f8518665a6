"""REINFORCE for an elevator: the log-probabilities are kept while it rides."""

import gradtape as tf


class Agent:
    def __init__(self, floors):
        self.net = tf.keras.Sequential([tf.keras.layers.Dense(8, activation="relu"), tf.keras.layers.Dense(floors)])
        self.log_probs, self.rewards = [], []

    def act(self, state):
        log_probabilities = tf.nn.log_softmax(self.net(state[None]))  # <- outside_tape
        floor = int(tf.random.categorical(log_probabilities, 1)[0, 0])
        self.log_probs.append(log_probabilities[0, floor])
        return floor

    def learn(self):
        with tf.GradientTape() as tape:
            loss = -tf.reduce_sum(tf.stack(self.log_probs) * tf.constant(self.rewards))
        gradients = tape.gradient(loss, self.net.trainable_variables)
        self.log_probs, self.rewards = [], []
        return gradients


agent = Agent(4)
for _ in range(5):
    floor = agent.act(tf.random.normal([6]))
    agent.rewards.append(-abs(floor - 2.0))
print(agent.learn())
# Advice: call `Agent.act`
