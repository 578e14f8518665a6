"""Partitioners of TensorFlow 1: the parts are TensorFlow 2.21's; a variable stays in one part."""

import numpy as np
import pytest

import gradtape.compat.v1 as tf


@pytest.mark.parametrize(
    "partitioner, shape, parts",
    [
        (tf.fixed_size_partitioner(3), [7, 2], [3, 1]),
        (tf.fixed_size_partitioner(3, axis=1), [7, 2], [1, 2]),
        (tf.fixed_size_partitioner(3, axis=1), [7, 8], [1, 3]),
        (tf.variable_axis_size_partitioner(16), [8, 2], [4, 1]),
        (tf.variable_axis_size_partitioner(16, max_shards=2), [8, 2], [2, 1]),
        (tf.min_max_variable_partitioner(max_partitions=4, min_slice_size=16), [8, 4], [4, 1]),
        (tf.min_max_variable_partitioner(), [8, 4], [1, 1]),
    ],
)
def test_parts(partitioner, shape, parts):
    assert partitioner(shape=tf.TensorShape(shape), dtype=tf.float32) == parts


def test_a_partitioned_variable():
    with tf.Graph().as_default(), tf.Session() as session:
        w = tf.get_variable("w", [4, 3], initializer=tf.ones_initializer(), partitioner=tf.fixed_size_partitioner(2))
        session.run(w.initializer)
        np.testing.assert_array_equal(session.run(tf.matmul(tf.ones([1, 4]), w)), [[4, 4, 4]])
    with pytest.raises(ValueError, match="along axis 1"):
        tf.fixed_size_partitioner(2, axis=1)([3], tf.float32)
    for arguments in ({"max_shard_bytes": 0}, {"max_shard_bytes": 1, "max_shards": 0}):
        with pytest.raises(ValueError, match="should be positive"):
            tf.variable_axis_size_partitioner(**arguments)
