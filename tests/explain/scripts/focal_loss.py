"""A focal loss of a probability that is 0."""

import gradtape as tf

model = tf.keras.layers.Dense(1, kernel_initializer="ones")


def focal(y, logits, gamma=2.0):
    p = tf.sigmoid(logits)
    return -tf.reduce_mean(y * (1.0 - p) ** gamma * tf.math.log(p))  # <- nan_origin


@tf.function
def step(x, y):
    with tf.GradientTape() as tape:
        loss = focal(y, model(x))
    return loss, tape.gradient(loss, model.trainable_variables)


step(tf.constant([[-200.0], [1.0]]), tf.constant([[1.0], [1.0]]))
