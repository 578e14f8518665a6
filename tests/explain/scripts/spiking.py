"""A leaky neuron that fires, simulated in a function with a loop of TensorFlow's."""

import gradtape as tf

weight, leak = tf.Variable([0.6, 0.5]), tf.Variable(0.9)
current = tf.constant([[1.0, 0.2], [0.3, 0.9], [0.8, 0.8], [0.1, 0.5]])


def simulate():
    def body(t, voltage, total):
        voltage = leak * voltage + tf.reduce_sum(weight * current[t])
        return t + 1, voltage, total + voltage

    start = tf.constant(0), tf.constant(0.0), tf.constant(0.0)
    results = tf.while_loop(lambda t, *_: t < 4, body, start, back_prop=False)  # <- stopped
    return results[2] / 4.0


@tf.function
def train_step(rate):
    with tf.GradientTape() as tape:
        loss = (simulate() - rate) ** 2
    return loss, tape.gradient(loss, [weight, leak])


print(train_step(tf.constant(0.7)))
# Fix: tf.while_loop(lambda t, *_: t < 4, body, start)
