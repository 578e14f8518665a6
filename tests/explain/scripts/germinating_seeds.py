"""How many seeds of a bed germinate is drawn, with a chance that depends on the depth."""

import gradtape as tf

depth = tf.Variable([1.0, 3.0])
seeds = tf.constant([50.0, 50.0])


def harvest(depth):
    chance = tf.sigmoid(2.0 - depth)
    sprouts = tf.random.stateless_binomial(  # <- not_differentiable
        [2], seed=[1, 2], counts=seeds, probs=chance, output_dtype=tf.float32
    )
    return tf.reduce_sum(sprouts)


optimizer = tf.keras.optimizers.SGD(0.01)
for _ in range(2):
    with tf.GradientTape() as tape:
        loss = -harvest(depth)
    gradient = tape.gradient(loss, depth)
    print(gradient)
# Advice: log-probability
