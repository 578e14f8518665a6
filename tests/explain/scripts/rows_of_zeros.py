"""Rows of zeros that are normalized, of an embedding."""

import gradtape as tf

emb = tf.keras.layers.Embedding(5, 2, embeddings_initializer="zeros")
out = tf.keras.layers.Dense(1, use_bias=False)
ids = tf.constant([[1, 2]])
with tf.GradientTape() as tape:
    h = tf.reduce_mean(emb(ids), axis=1)
    n = h / tf.norm(h, axis=-1, keepdims=True)  # <- nan_origin
    loss = tf.reduce_sum(out(n))
tape.gradient(loss, emb.trainable_variables + out.trainable_variables)
