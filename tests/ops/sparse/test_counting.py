"""`tf.sparse.bincount` of dense, sparse and ragged tensors, with TensorFlow 2.21's results."""

import numpy as np
import pytest

import gradtape as tf

Invalid = tf.errors.InvalidArgumentError
bincount = tf.sparse.bincount
MATRIX = np.array([[1, 2, 3, 2], [5, 0, 5, 7]])
WEIGHTS = np.arange(8.0, dtype="float32").reshape(2, 4)
PLACES = [[0, 1], [0, 2], [0, 3], [1, 0], [1, 5], [1, 7]]


def sparse(values=(1, 2, 2, 0, 2), last=2, shape=(4, 30)):
    return tf.SparseTensor([[0, 3], [0, 7], [2, 9], [2, 10], [last, 11]], values, shape)


def ragged(*rows):
    return tf.ragged.constant(list(rows))


ROWS = ragged([1, 2, 1], [], [5, 0])
SPARSE_PLACES, RAGGED_PLACES = [[0, 1], [0, 2], [2, 0], [2, 2]], [[0, 1], [0, 2], [2, 0], [2, 5]]


@pytest.mark.parametrize(
    "values, options, indices, counts, shape, dtype",
    [
        (MATRIX, {}, [[0], [1], [2], [3], [5], [7]], [1, 1, 2, 1, 2, 1], [8], "int64"),
        (MATRIX, {"axis": None, "minlength": 3, "maxlength": 6}, [[0], [1], [2], [3], [5]], [1, 1, 2, 1, 2], [6], "int64"),
        (MATRIX, {"axis": -1}, PLACES, [1, 2, 1, 1, 2, 1], [2, 8], "int64"),
        (MATRIX, {"axis": -1, "minlength": 10}, PLACES, [1, 2, 1, 1, 2, 1], [2, 10], "int64"),
        (MATRIX, {"axis": -1, "minlength": 9, "maxlength": 4}, PLACES[:4], [1, 2, 1, 1], [2, 4], "int64"),
        (MATRIX, {"axis": -1, "binary_output": True}, PLACES, [1] * 6, [2, 8], "int64"),
        (MATRIX, {"axis": -1, "weights": WEIGHTS}, PLACES, [0, 4, 2, 5, 10, 7], [2, 8], "float32"),
        (MATRIX, {"weights": WEIGHTS.astype("int32")}, [[0], [1], [2], [3], [5], [7]], [5, 0, 4, 2, 10, 7], [8], "int32"),
        ([1, 2, 2, 5], {"axis": -1}, [[1], [2], [5]], [1, 2, 1], [6], "int32"),
        (3, {}, [[3]], [1], [4], "int32"),
        (np.zeros((2, 0), int), {"axis": -1}, [], [], [2, 1], "int64"),
        (np.zeros(0, int), {"minlength": 0, "maxlength": 0}, [], [], [0], "int64"),
        (sparse(), {}, [[0], [1], [2]], [1, 1, 3], [3], "int32"),
        (sparse(), {"axis": -1}, SPARSE_PLACES, [1, 1, 1, 2], [4, 3], "int32"),
        (sparse(), {"axis": -1, "maxlength": 2}, [[0, 1], [2, 0]], [1, 1], [4, 2], "int32"),
        (sparse(), {"axis": -1, "weights": sparse([1.0, 2.0, 3.0, 4.0, 5.0])}, SPARSE_PLACES, [1, 2, 4, 8], [4, 3], "float32"),
        (tf.SparseTensor([[0], [3]], [1, 2], [4]), {"axis": -1}, [[1], [2]], [1, 1], [3], "int32"),
        (tf.SparseTensor([[0, 0, 1], [1, 1, 3]], [1, 2], [2, 4, 4]), {"axis": -1}, [[0, 1], [1, 2]], [1, 1], [2, 3], "int32"),
        (ROWS, {}, [[0], [1], [2], [5]], [1, 2, 1, 1], [6], "int32"),
        (ROWS, {"axis": -1}, RAGGED_PLACES, [2, 1, 1, 1], [3, 6], "int32"),
        (ROWS, {"axis": -1, "binary_output": True}, RAGGED_PLACES, [1] * 4, [3, 6], "int32"),
        (ROWS, {"axis": -1, "weights": ragged([1.0, 2.0, 3.0], [], [4.0, 5.0])}, RAGGED_PLACES, [4, 2, 5, 4], [3, 6], "float32"),
    ],
)
def test_counts(values, options, indices, counts, shape, dtype):
    found = bincount(values, **options)
    assert found.indices.numpy().tolist() == indices
    assert found.values.numpy().tolist() == counts
    assert (found.shape.as_list(), found.dtype.name) == (shape, dtype)


@pytest.mark.parametrize(
    "values, options, error, message",
    [
        ([1, -1], {}, Invalid, "Input values must all be non-negative"),
        ([1.0], {}, Invalid, "'T' of float is not in the list"),
        (np.ones((2, 2, 2), int), {"axis": -1}, Invalid, r"1 or 2-dimensional tensor. Got: \[2,2,2\]"),
        (MATRIX, {"weights": WEIGHTS[0], "axis": -1}, Invalid, r"Weight shape: \[4\]; data shape: \[2,4\]"),
        (MATRIX, {"weights": WEIGHTS[0]}, Invalid, r"Weight shape: \[4\]; data shape: \[8\]"),
        (MATRIX, {"weights": WEIGHTS.astype("float16")}, Invalid, "'output_type' of half is not in the list"),
        (MATRIX, {"weights": WEIGHTS, "binary_output": True}, ValueError, "`binary_output` and `weights` are mutually exclusive"),
        (MATRIX, {"axis": 1}, ValueError, "argument axis=1. Only 0 and -1 are currently supported"),
        (MATRIX, {"weights": sparse()}, ValueError, "must be a tf.Tensor if `values` is a tf.Tensor"),
        (sparse(), {"weights": WEIGHTS}, ValueError, "must be a SparseTensor if `values` is a SparseTensor"),
        (sparse(), {"weights": sparse(last=3)}, Invalid, "'weights' and 'values' must have the same indices"),
        (sparse(), {"weights": sparse(shape=(5, 30))}, Invalid, "'weights' and 'values' must have the same dense shape"),
        (ROWS, {"weights": [1.0]}, ValueError, "`weights` must be a RaggedTensor"),
        (ROWS, {"weights": ragged([1.0], [2.0, 3.0], [4.0, 5.0])}, Invalid, "must have the same row splits"),
        (ragged([[1], [2]], [[3]]), {"axis": -1}, Invalid, "1 or 2-dimensional tensor"),
    ],
)
def test_errors(values, options, error, message):
    with pytest.raises(error, match=message):
        bincount(values, **options)


def test_it_has_no_gradient_as_in_tensorflow():
    weights = tf.constant(WEIGHTS)
    with tf.GradientTape() as tape:
        tape.watch(weights)
        counts = bincount(MATRIX, weights=weights, axis=-1).values
    with pytest.raises(LookupError, match="gradient registry has no entry for: SparseCountSparseOutput"):
        tape.gradient(counts, weights)


def test_functions_and_graphs_of_unknown_sizes():
    expected = [[1, 2, 0], [0, 1, 2]]

    @tf.function(input_signature=[tf.TensorSpec([None, None], tf.int32)])
    def counted(x):
        return tf.sparse.to_dense(bincount(x, axis=-1))

    assert counted(np.array([[0, 1, 1], [2, 1, 2]], "int32")).numpy().tolist() == expected
    with tf.Graph().as_default(), tf.compat.v1.Session() as session:
        x = tf.compat.v1.placeholder(tf.int32, [None, None])
        assert session.run(tf.sparse.to_dense(bincount(x, axis=-1)), {x: [[0, 1, 1], [2, 1, 2]]}).tolist() == expected
