"""A condition in a line that an argument decides."""

import gradtape as tf

net = tf.keras.layers.Dense(2)


@tf.function
def step(x, train_it=False):
    with tf.GradientTape() as tape:
        h = net(x) if train_it else x  # <- branch_not_taken
        loss = tf.reduce_sum(h)
    return tape.gradient(loss, net.trainable_variables)


net.build((None, 2))
step(tf.ones([3, 2]))
# Advice: call with `train_it=True`
