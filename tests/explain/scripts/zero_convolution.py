"""A control network whose last convolution starts at zero."""

import gradtape as tf

control = tf.keras.layers.Conv2D(2, 3, padding="same", activation="tanh")
zero = tf.keras.layers.Conv2D(1, 1, kernel_initializer="zeros")
control.build([None, 4, 4, 1])
zero.build([None, 4, 4, 2])


@tf.function
def step(x, hint, target):
    with tf.GradientTape() as tape:
        features = control(hint)
        y = x + zero(features)  # <- zero_factor
        loss = tf.reduce_mean((y - target) ** 2)
    return tape.gradient(loss, control.trainable_variables)


step(tf.ones([1, 4, 4, 1]), tf.random.normal([1, 4, 4, 1], seed=2), tf.zeros([1, 4, 4, 1]))
# Advice: start zero.kernel at other values than 0
