"""Tables of embeddings that are Python lists."""

import gradtape as tf


def test_tables_may_be_lists():
    assert tf.nn.embedding_lookup([[1.0, 2.0], [3.0, 4.0]], [1, 0]).numpy().tolist() == [2.0, 1.0]  # two tables of two rows
    assert tf.nn.embedding_lookup([[[1.0, 2.0], [3.0, 4.0]]], [1]).numpy().tolist() == [[3.0, 4.0]]
