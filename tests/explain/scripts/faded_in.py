"""A progressive generator whose new block is not faded in yet."""

import gradtape as tf

old = tf.keras.layers.Conv2D(2, 1)
new = tf.keras.layers.Conv2D(2, 3, padding="same")
old.build((None, 4, 4, 3)), new.build((None, 4, 4, 3))
alpha = tf.Variable(0.0, trainable=False)


@tf.function
def generate(x):
    return (1.0 - alpha) * old(x) + alpha * new(x)  # <- zero_factor


with tf.GradientTape() as tape:
    loss = tf.reduce_mean(generate(tf.ones([1, 4, 4, 3])) ** 2)
print(tape.gradient(loss, old.trainable_variables + new.trainable_variables))
# Advice: start alpha at other values
