"""A quantizing autoencoder: straight through, with both of its losses."""

import gradtape as tf

encoder, decoder = tf.keras.layers.Dense(2), tf.keras.layers.Dense(4)
codes = tf.Variable(tf.random.normal([5, 2]))
x = tf.random.normal([16, 4])
encoder(x), decoder(tf.zeros([1, 2]))


@tf.function
def step(x):
    with tf.GradientTape() as tape:
        z = encoder(x)
        distances = tf.reduce_sum((z[:, None, :] - codes[None]) ** 2, axis=-1)
        nearest = tf.gather(codes, tf.argmin(distances, axis=1))
        passed = z + tf.stop_gradient(nearest - z)
        loss = tf.reduce_mean((decoder(passed) - x) ** 2)
        loss += tf.reduce_mean((tf.stop_gradient(z) - nearest) ** 2)
        loss += 0.25 * tf.reduce_mean((z - tf.stop_gradient(nearest)) ** 2)
    variables = encoder.trainable_variables + decoder.trainable_variables + [codes]
    return tape.gradient(loss, variables)


print([tf.norm(tf.convert_to_tensor(g)).numpy() for g in step(x)])
