"""The rate of a dropout is learned."""

import gradtape as tf

logit = tf.Variable(-1.0)
dense = tf.keras.layers.Dense(2)


def forward(x):
    rate = float(tf.sigmoid(logit))  # <- left_library
    return dense(tf.nn.dropout(x, rate=rate, seed=3))


with tf.GradientTape() as tape:
    loss = tf.reduce_mean(forward(tf.ones([4, 6])) ** 2)
print(tape.gradient(loss, [logit, *dense.trainable_variables]))
