"""Meta-learning whose adapted weights are set into a second model."""

import gradtape as tf


def network():
    return tf.keras.Sequential(
        [tf.keras.layers.Input([2]), tf.keras.layers.Dense(3, activation="tanh"), tf.keras.layers.Dense(1)]
    )


model, fast = network(), network()
x, y = tf.random.normal([6, 2], seed=5), tf.random.normal([6, 1], seed=6)
with tf.GradientTape() as outer:
    with tf.GradientTape() as inner:
        loss = tf.reduce_mean((model(x) - y) ** 2)
    grads = inner.gradient(loss, model.trainable_variables)
    adapted = [v - 0.1 * g for v, g in zip(model.trainable_variables, grads, strict=True)]
    fast.set_weights(adapted)  # <- state
    meta_loss = tf.reduce_mean((fast(x) - y) ** 2)
print(outer.gradient(meta_loss, model.trainable_variables))
# Advice: stateless_call
