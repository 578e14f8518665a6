"""Derivatives of Keras models."""

import numpy as np

import gradtape as tf
from gradtape import autodiff

X = tf.constant(np.random.default_rng(0).normal(size=(4, 6, 8)).astype("f"))
LABELS = tf.constant([0, 1, 2, 0])


def model():
    keras = tf.keras
    inputs = keras.Input((6, 8))
    attended = keras.layers.MultiHeadAttention(num_heads=2, key_dim=4)(inputs, inputs)
    normal = keras.layers.LayerNormalization()(inputs + attended)
    return keras.Model(inputs, keras.layers.Dense(3)(keras.layers.GlobalAveragePooling1D()(normal)))


def test_per_example_gradients_norms_and_products():
    network = model()
    variables = network.trainable_variables

    def loss(x, labels):
        return tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(labels, network(x)))

    found = autodiff.per_example_gradients(loss, variables, (X, LABELS))
    with tf.GradientTape() as tape:
        whole = loss(X, LABELS)
    for each, mean in zip(found, tape.gradient(whole, variables), strict=True):
        np.testing.assert_allclose(tf.reduce_mean(each, 0), mean, 1e-4, 1e-6)
    norms = autodiff.per_example_norms(loss, variables, (X, LABELS))
    np.testing.assert_allclose(norms, np.sqrt(sum((g.numpy().reshape(4, -1) ** 2).sum(1) for g in found)), 1e-4)

    vectors = [tf.ones(v.shape) for v in variables]
    forward, reverse = [autodiff.hvp(lambda: loss(X, LABELS), (), vectors, variables, mode) for mode in ("forward", "reverse")]
    for mine, other in zip(forward, reverse, strict=True):
        np.testing.assert_allclose(mine, other, 1e-3, 1e-5)
