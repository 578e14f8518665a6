"""Only the head is watched, and all variables are asked for."""

import gradtape as tf

base = tf.keras.Sequential([tf.keras.layers.Input([4]), tf.keras.layers.Dense(6, activation="tanh")])  # <- not_watched
head = tf.keras.Sequential([tf.keras.layers.Input([6]), tf.keras.layers.Dense(2)])
x, labels = tf.random.normal([5, 4], seed=8), tf.constant([0, 1, 1, 0, 1])
variables = base.trainable_variables + head.trainable_variables
with tf.GradientTape(watch_accessed_variables=False) as tape:
    tape.watch(head.trainable_variables)
    logits = head(base(x))
    loss = tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(labels, logits))
grads = tape.gradient(loss, variables)
