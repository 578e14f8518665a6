"""A step for one task asks for the heads of both."""

import gradtape as tf

trunk = tf.keras.layers.Dense(4, activation="tanh")
heads = {"age": tf.keras.layers.Dense(1), "name": tf.keras.layers.Dense(3)}
x = tf.ones([2, 5])
trunk.build([None, 5])
for head in heads.values():
    head.build([None, 4])


@tf.function
def step(x, task):
    with tf.GradientTape() as tape:
        out = heads[task](trunk(x))
        loss = tf.reduce_mean(out**2)  # <- unused
    variables = trunk.trainable_variables + heads["age"].trainable_variables + heads["name"].trainable_variables
    return tape.gradient(loss, variables)


step(x, "age")
# Advice: leave it out of the sources
