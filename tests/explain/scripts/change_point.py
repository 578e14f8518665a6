"""A trend of sales that may bend once; the bend lies behind the last day."""

import gradtape as tf

days = tf.linspace(0.0, 1.0, 11)
sales = 2.0 * days + 0.3 * tf.sin(20.0 * days)
slope, bend, change = tf.Variable(1.0), tf.Variable(0.5), tf.Variable(1.2)


@tf.function
def fit_step():
    with tf.GradientTape() as tape:
        trend = slope * days + bend * tf.nn.relu(days - change)  # <- dead_relu
        loss = tf.reduce_mean((trend - sales) ** 2)
    gradients = tape.gradient(loss, [slope, bend, change])
    for variable, gradient in zip([slope, bend, change], gradients, strict=True):
        variable.assign_sub(0.1 * gradient)
    return gradients


print(fit_step())
# Advice: some of `days - change` is above 0
