"""A contrastive loss by hand, of a low temperature."""

import gradtape as tf

encoder = tf.keras.Sequential([tf.keras.layers.Input([4]), tf.keras.layers.Dense(3)])


@tf.function
def train_step(a, b):
    with tf.GradientTape() as tape:
        za, zb = tf.math.l2_normalize(encoder(a), 1), tf.math.l2_normalize(encoder(b), 1)
        similar = tf.exp(za @ tf.transpose(zb) / 0.005)  # <- nan_origin
        positive = tf.linalg.diag_part(similar)
        loss = -tf.reduce_mean(tf.math.log(positive / tf.reduce_sum(similar, axis=1)))
    return loss, tape.gradient(loss, encoder.trainable_variables)


views = tf.random.normal([4, 4], seed=5)
train_step(views, views + 0.01)
# Advice: tf.reduce_logsumexp
