"""A gate whose choice alone is used."""

import gradtape as tf

gate = tf.keras.layers.Dense(4, use_bias=False)
experts = tf.Variable(tf.random.stateless_normal([4, 3, 2], [0, 1]))


@tf.function
def train(x, y):
    with tf.GradientTape() as tape:
        scores = gate(x)
        _, chosen = tf.math.top_k(scores, k=2)  # <- not_floating
        weights = tf.gather(experts, chosen)
        out = tf.einsum("bi,bkio->bo", x, weights)
        loss = tf.reduce_mean((out - y) ** 2)
    variables = gate.trainable_variables + [experts]
    return tape.gradient(loss, variables)


train(tf.ones([5, 3]), tf.zeros([5, 2]))
# Advice: a soft choice
