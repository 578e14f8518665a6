"""Sparse and ragged tensors through Keras's layers. The numbers are TensorFlow's."""

import pytest

import gradtape as tf

keras = tf.keras


@pytest.fixture
def sparse():
    return tf.sparse.from_dense([[1.0, 0.0, 2.0], [0.0, 3.0, 0.0]])


class Propagate(keras.layers.Layer):
    def call(self, inputs):
        nodes, adjacency = inputs
        return tf.sparse.sparse_dense_matmul(adjacency, nodes)


def test_a_layer_of_ones_own_takes_them(sparse):
    class Same(keras.layers.Layer):
        def call(self, x):
            return x

    assert Same()(sparse).values.numpy().tolist() == [1.0, 2.0, 3.0]
    assert Same()(tf.cast(sparse, tf.float64)).dtype == tf.float32  # the layer's own
    assert Same()(tf.ragged.constant([[1.0, 2.0], [3.0]])).to_list() == [[1.0, 2.0], [3.0]]
    assert Propagate()([tf.ones([3, 2]), sparse]).numpy().tolist() == [[3.0, 3.0], [3.0, 3.0]]


def test_dense_multiplies_a_sparse_tensor(sparse):
    dense = keras.layers.Dense(2, kernel_initializer="ones")
    with tf.GradientTape() as tape:
        y = dense(sparse)
    assert y.numpy().tolist() == [[3.0, 3.0], [3.0, 3.0]]
    assert tape.gradient(y, dense.kernel).numpy().tolist() == [[1.0, 1.0], [3.0, 3.0], [2.0, 2.0]]


def test_embedding_looks_up_a_ragged_tensor():
    embedding = keras.layers.Embedding(3, 1, embeddings_initializer=lambda shape, dtype: tf.constant([[0.0], [10.0], [20.0]]))
    rows = tf.ragged.constant([[1, 2], [1]])
    with tf.GradientTape() as tape:
        y = embedding(rows)
    assert y.to_list() == [[[10.0], [20.0]], [[10.0]]]
    assert tf.convert_to_tensor(tape.gradient(y.flat_values, embedding.embeddings)).numpy().tolist() == [[0.0], [2.0], [1.0]]


def test_they_become_arrays_and_tensors(sparse):
    assert keras.ops.convert_to_numpy(sparse).tolist() == [[1.0, 0.0, 2.0], [0.0, 3.0, 0.0]]
    assert keras.ops.convert_to_numpy(tf.ragged.constant([[1, 2], [3]])).tolist() == [[1, 2], [3, 0]]
    assert keras.ops.convert_to_tensor(sparse, sparse=False).numpy().tolist() == [[1.0, 0.0, 2.0], [0.0, 3.0, 0.0]]
    assert keras.ops.is_tensor(sparse) and keras.ops.matmul(sparse, tf.ones([3, 1])).numpy().tolist() == [[3.0], [3.0]]
