"""`tf.sets`: the values, places and errors are TensorFlow 2.21's."""

import numpy as np
import pytest

import gradtape as tf

A, B = [[1, 2, 3], [4, 5, 5]], [[3, 1, 9], [5, 5, 7]]


def sparse(places, values, shape):
    return tf.SparseTensor(places, values, shape)


GAPS = sparse([[0, 0], [2, 1]], [1, 2], [3, 2]), sparse([[2, 0]], [7], [3, 2])


@pytest.mark.parametrize(
    "function, a, b, places, values, shape",
    [
        (tf.sets.intersection, A, B, [[0, 0], [0, 1], [1, 0]], [1, 3, 5], [2, 2]),
        (tf.sets.union, A, B, [[0, 0], [0, 1], [0, 2], [0, 3], [1, 0], [1, 1], [1, 2]], [1, 2, 3, 9, 4, 5, 7], [2, 4]),
        (tf.sets.difference, A, B, [[0, 0], [1, 0]], [2, 4], [2, 1]),
        (lambda a, b: tf.sets.difference(a, b, aminusb=False), A, B, [[0, 0], [1, 0]], [9, 7], [2, 1]),
        (tf.sets.union, *GAPS, [[0, 0], [2, 0], [2, 1]], [1, 2, 7], [3, 2]),
        (tf.sets.intersection, GAPS[0], [[1, 8], [1, 1], [2, 2]], [[0, 0], [2, 0]], [1, 2], [3, 1]),
        (tf.sets.intersection, [[[1], [2]]], [[[2], [2]]], [[0, 1, 0]], [2], [1, 2, 1]),
        (tf.sets.intersection, [[1]], [[2]], np.zeros([0, 2]), [], [1, 0]),
        (tf.sets.union, [["b", "a"]], [["c", "a"]], [[0, 0], [0, 1], [0, 2]], [b"a", b"b", b"c"], [1, 3]),
    ],
)
def test_sets(function, a, b, places, values, shape):
    result = function(a, b)
    np.testing.assert_array_equal(result.indices, places)
    assert result.values.numpy().tolist() == values and result.dense_shape.numpy().tolist() == shape


def test_size():
    counts = tf.sets.size(sparse([[0, 0], [0, 1], [0, 2], [2, 0]], [1, 2, 2, 3], [3, 3]))
    assert counts.dtype == tf.int32 and counts.numpy().tolist() == [2, 0, 1]
    assert tf.compat.v1.sets.set_size(tf.compat.v1.sets.set_union([[1]], [[2]])).numpy().tolist() == [2]
    function = tf.function(lambda a, b: tf.sets.size(tf.sets.intersection(a, b)))
    assert function(tf.constant(A), tf.constant(B)).numpy().tolist() == [2, 1]


@pytest.mark.parametrize(
    "call, error, message",
    [
        (lambda: tf.sets.union([1], [2]), tf.errors.InvalidArgumentError, "rank 1 < 2"),
        (lambda: tf.sets.union([[1, 2]], [[1], [2]]), tf.errors.InvalidArgumentError, "Mismatched shapes"),
        (lambda: tf.sets.union([[1]], tf.constant([[1]], tf.int64)), TypeError, "Types don't match"),
        (lambda: tf.sets.union([[1.0]], [[2.0]]), TypeError, "not float32"),
        (lambda: tf.sets.size([[1]]), TypeError, "must be a SparseTensor"),
    ],
)
def test_errors(call, error, message):
    with pytest.raises(error, match=message):
        call()
