"""The price of a bundle is computed in Python, called by tf.py_function. The gradient is always None."""

import gradtape as tf


def discount(amounts):
    total = 0.0
    for amount in amounts.numpy():  # <- left_library
        total += amount * (0.9 if amount > 2.0 else 1.0)
    return tf.convert_to_tensor(total, tf.float32)


@tf.function
def price(amounts):
    result = tf.py_function(discount, [amounts], tf.float32)
    result.set_shape([])
    return result


amounts = tf.Variable([1.0, 3.0, 2.5])
with tf.GradientTape() as tape:
    loss = (price(amounts) - 5.0) ** 2
print(tape.gradient(loss, amounts))
# Advice: leave out `.numpy()`
