"""The rate of an inner optimizer is learned."""

import gradtape as tf

w, rate = tf.Variable([2.0, -1.0]), tf.Variable(0.1)
x, y = tf.constant([1.0, 2.0]), tf.constant([0.5, 0.5])
optimizer = tf.keras.optimizers.SGD(learning_rate=0.1)
with tf.GradientTape() as outer:
    with tf.GradientTape() as inner:
        loss = tf.reduce_mean((w * x - y) ** 2)
    gradient = inner.gradient(loss, w)
    optimizer.apply_gradients([(rate * gradient, w)])  # <- state
    after = tf.reduce_mean((w * x - y) ** 2)
print(outer.gradient(after, rate))
# Advice: keep the new value in a tensor
