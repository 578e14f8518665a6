"""A layer without weights pastes a picture into a canvas, which is a Variable."""

import gradtape as tf


class Paste(tf.keras.layers.Layer):
    def call(self, pictures):
        canvas = tf.Variable(tf.zeros([2, 6, 6]), trainable=False)
        canvas[:, 1:4, 1:4].assign(pictures)  # <- state
        return canvas * 0.5


generator = tf.keras.Sequential([tf.keras.layers.Dense(9), tf.keras.layers.Reshape([3, 3])])
paste = Paste()
critic = tf.keras.Sequential([tf.keras.layers.Flatten(), tf.keras.layers.Dense(1)])
noise = tf.random.normal([2, 4], seed=1)
with tf.GradientTape() as tape:
    scores = critic(paste(generator(noise)))
    loss = -tf.reduce_mean(scores)
print(tape.gradient(loss, generator.trainable_variables))
# Advice: keep the new value in a tensor
