"""The full cost matrix does not fit into memory, so the outputs go through a tf.data pipeline in chunks."""

import gradtape as tf

encoder = tf.keras.layers.Dense(4, activation="tanh")
left, right = tf.random.normal([12, 5]), tf.random.normal([12, 5])
margin = 0.2


def chunked_loss(a, b, size=4):
    chunks = tf.data.Dataset.from_tensor_slices((a, b)).batch(size)  # <- left_library
    losses = []
    for x, y in chunks:
        cost = tf.reduce_sum(x * y, axis=1) - tf.linalg.diag_part(tf.matmul(x, y[::-1], transpose_b=True))
        losses.append(tf.nn.relu(margin - cost))
    return tf.reduce_mean(tf.concat(losses, 0))


optimizer = tf.keras.optimizers.Adam()
encoder(left)
with tf.GradientTape() as tape:
    loss = chunked_loss(encoder(left), encoder(right))
gradients = tape.gradient(loss, encoder.trainable_variables)
print(gradients)
# Advice: in slices such as
