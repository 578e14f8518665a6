"""Layers in a loop, one of which is passed over."""

import gradtape as tf

layers = {name: tf.keras.layers.Dense(4) for name in ("stem", "body", "head")}
for layer in layers.values():
    layer.build([None, 4])
skipped = {"body"}


def network(x):
    for name, layer in layers.items():
        if name in skipped:  # <- branch_not_taken
            continue
        x = layer(x)
    return x


with tf.GradientTape() as tape:
    loss = tf.reduce_mean(network(tf.ones([2, 4])) ** 2)
print(tape.gradient(loss, layers["body"].trainable_variables))
# Advice: let the condition take it in
