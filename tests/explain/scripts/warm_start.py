"""A weight of a term that a schedule keeps at zero in the first steps."""

import gradtape as tf

main, aux = tf.Variable([1.0, 2.0]), tf.Variable([0.5, 0.5])
schedule = tf.keras.optimizers.schedules.PolynomialDecay(0.0, 100, 1.0)


@tf.function
def step(number):
    with tf.GradientTape() as tape:
        weight = schedule(number)
        loss = tf.reduce_sum(main**2) + weight * tf.reduce_sum((aux - 1.0) ** 2)  # <- zero_factor
    return tape.gradient(loss, [main, aux])


step(tf.constant(0))
# Advice: give weight other values than 0
