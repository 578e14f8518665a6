"""A ranking of pairs by a squared hinge, all of which are in order."""

import gradtape as tf

model = tf.keras.Sequential([tf.keras.layers.Input([1]), tf.keras.layers.Dense(1, kernel_initializer="ones")])
better, worse = tf.constant([[5.0], [7.0]]), tf.constant([[1.0], [2.0]])


@tf.function
def step():
    with tf.GradientTape() as tape:
        gaps = model(better) - model(worse)
        loss = tf.reduce_mean(tf.nn.relu(1.0 - gaps) ** 2)  # <- dead_relu
    return tape.gradient(loss, model.trainable_variables)


step()
# Advice: try harder examples
