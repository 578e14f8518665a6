"""A length regulator whose durations have a loss of their own; the whole numbers only repeat."""

import gradtape as tf

duration, decoder = tf.keras.layers.Dense(1, activation="softplus"), tf.keras.layers.Dense(2)
phones = tf.random.normal([5, 3])
lasted = tf.constant([2, 1, 3, 2, 4])
mel = tf.random.normal([40, 2])
with tf.GradientTape() as tape:
    predicted = 1.0 + duration(phones)[:, 0]
    repeated = tf.repeat(phones, tf.cast(tf.round(predicted), tf.int32), axis=0)
    frames = decoder(repeated)
    of_sound = tf.reduce_mean((frames - mel[: frames.shape[0]]) ** 2)
    of_length = tf.reduce_mean((tf.math.log(predicted) - tf.math.log(tf.cast(lasted, tf.float32))) ** 2)
    loss = of_sound + of_length
variables = duration.trainable_variables + decoder.trainable_variables
print(tape.gradient(loss, variables))
