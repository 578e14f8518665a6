"""Temperatures in winter by a regression whose last layer has a relu, too. It predicts 0 for every day."""

import gradtape as tf

tf.random.set_seed(3)
days = tf.random.uniform([20, 3])
celsius = -8.0 + 2.0 * days[:, :1]

model = tf.keras.Sequential()
model.add(tf.keras.layers.Dense(8, activation="tanh"))
model.add(tf.keras.layers.Dense(1, activation="relu", bias_initializer=tf.keras.initializers.Constant(-6.0)))


def train_step(x, y):
    with tf.GradientTape() as tape:
        prediction = model(x, training=True)  # <- dead_relu
        loss = tf.reduce_mean(tf.square(prediction - y))
    return loss, tape.gradient(loss, model.trainable_variables)


loss, gradients = train_step(days, celsius)
print(float(loss), [float(tf.norm(g)) for g in gradients])
# Advice: another initialization
