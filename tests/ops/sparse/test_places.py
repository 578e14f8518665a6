"""Functions that move the elements of SparseTensors, with TensorFlow 2.21's results."""

import numpy as np
import pytest

import gradtape as tf

Invalid = tf.errors.InvalidArgumentError


def matrix(values=(1.0, 2.0, 3.0)):
    return tf.SparseTensor([[1, 2], [0, 1], [1, 0]], values, [2, 3])


def other():
    return tf.SparseTensor([[0, 1], [1, 1]], [-2.0, 6.0], [2, 3])


def parts(x):
    return x.indices.numpy().tolist(), x.values.numpy().tolist(), x.dense_shape.numpy().tolist()


ROWS = [
    (lambda s: tf.sparse.reorder(s), [[0, 1], [1, 0], [1, 2]], [2, 3, 1], [2, 3]),
    (lambda s: tf.sparse.transpose(s), [[0, 1], [1, 0], [2, 1]], [3, 2, 1], [3, 2]),
    (lambda s: tf.sparse.transpose(s, [0, 1]), [[0, 1], [1, 0], [1, 2]], [2, 3, 1], [2, 3]),
    (lambda s: tf.sparse.reshape(s, [3, -1]), [[2, 1], [0, 1], [1, 1]], [1, 2, 3], [3, 2]),
    (lambda s: tf.sparse.reshape(s, [6]), [[5], [1], [3]], [1, 2, 3], [6]),
    (lambda s: tf.sparse.retain(s, [True, False, True]), [[1, 2], [1, 0]], [1, 3], [2, 3]),
    (lambda s: tf.sparse.expand_dims(s), [[1, 2, 0], [0, 1, 0], [1, 0, 0]], [1, 2, 3], [2, 3, 1]),
    (lambda s: tf.sparse.expand_dims(s, 0), [[0, 1, 2], [0, 0, 1], [0, 1, 0]], [1, 2, 3], [1, 2, 3]),
    (
        lambda s: tf.sparse.concat(0, [s, s]),
        [[0, 1], [1, 0], [1, 2], [2, 1], [3, 0], [3, 2]],
        [2, 3, 1, 2, 3, 1],
        [4, 3],
    ),
    (
        lambda s: tf.sparse.concat(-1, [s, tf.sparse.transpose(s)], expand_nonconcat_dims=True),
        [[0, 1], [0, 4], [1, 0], [1, 2], [1, 3], [2, 4]],
        [2, 3, 3, 1, 2, 1],
        [3, 5],
    ),
    (lambda s: tf.sparse.map_values(tf.add, s, 5.0), [[1, 2], [0, 1], [1, 0]], [6, 7, 8], [2, 3]),
    (lambda s: tf.sparse.map_values(tf.add, s, y=s), [[1, 2], [0, 1], [1, 0]], [2, 4, 6], [2, 3]),
    (lambda s: tf.sparse.eye(2, 3), [[0, 0], [1, 1]], [1, 1], [2, 3]),
    (lambda s: tf.sparse.add(tf.sparse.reorder(s), other()), [[0, 1], [1, 0], [1, 1], [1, 2]], [0, 3, 6, 1], [2, 3]),
    (lambda s: tf.sparse.add(tf.sparse.reorder(s), other(), 0.1), [[1, 0], [1, 1], [1, 2]], [3, 6, 1], [2, 3]),
]


@pytest.mark.parametrize("wrap", [lambda f: f, tf.function], ids=["eager", "function"])
@pytest.mark.parametrize(("call", "indices", "values", "shape"), ROWS)
def test_results(call, indices, values, shape, wrap):
    assert parts(wrap(lambda: call(matrix()))()) == (indices, values, shape)


def test_a_dense_side_makes_the_sum_dense():
    for result in (tf.sparse.add(matrix(), tf.ones([2, 3])), tf.sparse.add(tf.ones([2, 3]), matrix())):
        np.testing.assert_array_equal(result, [[1, 3, 1], [4, 1, 2]])


@pytest.mark.parametrize(
    ("call", "gradient"),
    [
        (lambda q: tf.sparse.transpose(q).values * [1.0, 2.0, 3.0], [3, 2, 1]),
        (lambda q: tf.sparse.add(tf.sparse.reorder(q), other()).values * [1.0, 2.0, 3.0, 4.0], [4, 1, 2]),
        (lambda q: tf.sparse.retain(q, [True, True, False]).values * [1.0, 2.0], [1, 2, 0]),
        (lambda q: tf.sparse.reshape(tf.sparse.map_values(tf.square, q), [6]).values, [2, 4, 6]),
        (lambda q: tf.sparse.concat(0, [q, other()]).values * [1.0, 2.0, 3.0, 4.0, 5.0], [3, 1, 2]),
    ],
)
def test_gradients_go_to_the_values(call, gradient):
    v = tf.Variable([1.0, 2.0, 3.0])
    with tf.GradientTape() as tape:
        y = call(matrix(v))
    np.testing.assert_array_equal(tf.convert_to_tensor(tape.gradient(y, v)), gradient)


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda s: tf.sparse.reorder(1.0), TypeError, "must be a SparseTensor"),
        (lambda s: tf.sparse.transpose(s, [1, 0, 2]), Invalid, r"perm \[1, 0, 2\] must name each of the 2 axes"),
        (
            lambda s: tf.sparse.reshape(s, [4, -1]),
            Invalid,
            "with 6 dense values, but the requested shape requires a multiple of 4",
        ),
        (lambda s: tf.sparse.reshape(s, [4, 2]), Invalid, "with 6 dense values, but the requested shape has 8"),
        (lambda s: tf.sparse.reshape(s, [-1, -1]), Invalid, "only one output dimension may be -1"),
        (lambda s: tf.sparse.retain(s, [True, False]), ValueError, "Dimensions 3 and 2 are not compatible"),
        (lambda s: tf.sparse.expand_dims(s, 5), Invalid, "axis 5 is out of range"),
        (
            lambda s: tf.sparse.concat(1, [s, tf.sparse.transpose(s)]),
            Invalid,
            "expected 2 for dimension 0 but got 3 at position 1",
        ),
        (lambda s: tf.sparse.concat(0, [s, tf.sparse.expand_dims(s)]), Invalid, "expected 2 but got 3 at position 1"),
        (lambda s: tf.sparse.concat(0, []), ValueError, "at least one SparseTensor"),
        (lambda s: tf.sparse.map_values(tf.add, s, tf.sparse.eye(2, 3)), Invalid, "Mismatched shapes!"),
        (lambda s: tf.sparse.map_values(tf.add, s, tf.sparse.reorder(s)), Invalid, "Mismatched indices!"),
        (lambda s: tf.sparse.map_values(tf.add, 1.0, 2.0), ValueError, "No SparseTensor in argument list of map_values"),
        (lambda s: tf.sparse.map_values(tf.add, s, tf.sparse.transpose(s)), Invalid, "Mismatched shapes!"),
        (lambda s: tf.sparse.add(1.0, 2.0), TypeError, "At least one input should be SparseTensor"),
        (lambda s: tf.sparse.add(s, tf.sparse.transpose(s)), Invalid, "got 2 and 3 for dimension 0"),
    ],
)
def test_bad_calls(call, error, message):
    with pytest.raises(error, match=message):
        call(matrix())


@pytest.mark.parametrize("shape", [[3, 0], [0, 5], [-1, 3], [0]])
def test_nothing_has_another_shape(shape):
    nothing = tf.SparseTensor(np.zeros((0, 2), np.int64), np.zeros(0, np.float32), [0, 3])
    found = tf.sparse.reshape(nothing, shape)
    assert found.indices.shape == (0, len(shape)) and found.dense_shape.numpy().tolist() == [max(extent, 0) for extent in shape]
