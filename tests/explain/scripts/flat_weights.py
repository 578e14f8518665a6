"""The gradient for L-BFGS, which wants all weights of the network in one vector."""

import gradtape as tf

tf.random.set_seed(0)
model = tf.keras.Sequential([tf.keras.layers.Dense(5, activation="tanh"), tf.keras.layers.Dense(1)])
x = tf.reshape(tf.linspace(-1.0, 1.0, 20), [-1, 1])
y = tf.sin(3.0 * x)
model(x)


def flat(variables):
    return tf.concat([tf.reshape(v, [-1]) for v in variables], axis=0)


def value_and_gradient():
    with tf.GradientTape() as tape:
        weights = flat(model.trainable_variables)
        tape.watch(weights)
        loss = tf.reduce_mean((model(x) - y) ** 2)  # <- unused
    return loss, tape.gradient(loss, weights)


print(value_and_gradient())
# Advice: compute weights first
