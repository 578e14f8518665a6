"""Tables of embeddings that are Python lists."""

import numpy as np
import pytest

import gradtape as tf


def test_tables_may_be_lists():
    assert tf.nn.embedding_lookup([[1.0, 2.0], [3.0, 4.0]], [1, 0]).numpy().tolist() == [2.0, 1.0]  # two tables of two rows
    assert tf.nn.embedding_lookup([[[1.0, 2.0], [3.0, 4.0]]], [1]).numpy().tolist() == [[3.0, 4.0]]


def test_ragged_ids_are_combined_row_by_row():
    table = tf.reshape(tf.range(12.0), [6, 2])
    ids = tf.ragged.constant([[0, 1], [5], [], [2, 2, 3]], dtype=tf.int64)
    weights = tf.ragged.constant([[1.0, 2.0], [0.5], [], [1.0, 2.0, 3.0]])
    summed = tf.nn.embedding_lookup_sparse(table, ids, weights, combiner="sum")
    assert summed.numpy().tolist() == [[4.0, 7.0], [5.0, 5.5], [0.0, 0.0], [30.0, 36.0]]
    with tf.GradientTape() as tape:
        tape.watch([table, weights.flat_values])
        loss = tf.reduce_sum(tf.nn.embedding_lookup_sparse(table, ids, weights) ** 2)
    of_table, of_weights = tape.gradient(loss, [table, weights.flat_values])
    np.testing.assert_allclose(of_weights, [-3.2593, 1.6296, 0.0, -3.6667, -3.6667, 3.6667], atol=1e-4)
    np.testing.assert_allclose(
        tf.convert_to_tensor(of_table),
        [[0.8889, 1.5556], [1.7778, 3.1111], [5.0, 6.0], [5.0, 6.0], [0.0, 0.0], [20.0, 22.0]],
        atol=1e-4,
    )
    safe = tf.nn.safe_embedding_lookup_sparse(table, tf.ragged.constant([[1], [], [-1, 2]], dtype=tf.int64))
    assert safe.numpy().tolist() == [[2.0, 3.0], [0.0, 0.0], [4.0, 5.0]]
    with pytest.raises(TypeError, match="sp_weights must be either None or RaggedTensor"):
        tf.nn.embedding_lookup_sparse(table, ids, weights.to_sparse())


def test_the_lookup_of_tensorflow_1_takes_ragged_ids():
    found = tf.compat.v1.nn.embedding_lookup([tf.constant([[2.0]])], tf.ragged.constant([[0, 0], [0]]), max_norm=1.0)
    assert found.to_list() == [[[1.0], [1.0]], [[1.0]]]
