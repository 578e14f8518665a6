"""Placeholders without a shape, where the rank matters: calls are made when the graph runs. Numbers are TensorFlow 2.21's."""

import numpy as np
import pytest

import gradtape.compat.v1 as tf
from tests.graph.values import same

A = np.arange(6, dtype=np.float32).reshape(2, 3) / 4
B = np.arange(12, dtype=np.float32).reshape(3, 4) / 5 - 1

SOFTMAX = [[0.254275, 0.326496, 0.419229]] * 2
CASES = {
    "matmul": (
        lambda x: tf.matmul(x, B),
        [[0.25, 0.4, 0.55, 0.7], [-0.2, 0.4, 1.0, 1.6]],
        [[-2.8, 0.4, 3.6], [-2.8, 0.4, 3.6]],
    ),
    "both sides": (lambda x: tf.matmul(x, x, transpose_b=True), [[0.3125, 0.875], [0.875, 3.125]], [[1.5, 2.5, 3.5]] * 2),
    "a sum over one axis": (lambda x: tf.reduce_sum(x, axis=1), [0.75, 3.0], np.ones((2, 3))),
    "a maximum that keeps its axis": (lambda x: tf.reduce_max(x, -1, keepdims=True), [[0.5], [1.25]], [[0, 0, 1]] * 2),
    "a sum over no axis": (lambda x: tf.reduce_sum(x, axis=[]) * 2, 2 * A, np.full((2, 3), 2.0)),
    "a mean over all": (tf.reduce_mean, 0.625, np.full((2, 3), 1 / 6)),
    "concat": (lambda x: tf.concat([x, x * 2], 1), np.concatenate([A, 2 * A], 1), np.full((2, 3), 3.0)),
    "a row": (lambda x: x[0], [0, 0.25, 0.5], [[1, 1, 1], [0, 0, 0]]),
    "a column": (lambda x: x[:, 1], [0.25, 1.0], [[0, 1, 0]] * 2),
    "softmax": (tf.nn.softmax, SOFTMAX, np.zeros((2, 3))),
    "stack": (lambda x: tf.stack([x, x], axis=1), np.stack([A, A], 1), np.full((2, 3), 2.0)),
    "transpose": (tf.transpose, A.T, np.ones((2, 3))),
    "expand_dims": (lambda x: tf.expand_dims(x, 2) * tf.expand_dims(x, 1), A[:, :, None] * A[:, None], [[1.5] * 3, [6.0] * 3]),
    "squeeze": (lambda x: tf.squeeze(tf.expand_dims(x, 0), axis=0), A, np.ones((2, 3))),
    "reshape": (lambda x: tf.reshape(x, [-1, 3]), A, np.ones((2, 3))),
    "reshape to what is computed": (lambda x: tf.reshape(x, [tf.shape(x)[0], 3, 1]), A[..., None], np.ones((2, 3))),
    "zeros of its rows": (lambda x: tf.zeros([tf.shape(x)[0], 2]) + x[:, :1], [[0, 0], [0.75, 0.75]], [[2, 0, 0]] * 2),
    "a bias": (lambda x: tf.reduce_sum(x + tf.ones([3]), axis=1), [3.75, 6.0], np.ones((2, 3))),
    "then a layer": (lambda x: tf.matmul(tf.nn.relu(tf.matmul(x, B) - 1), B.T)[0, 0], 0.0, np.zeros((2, 3))),
    "a branch": (lambda x: tf.cond(tf.reduce_sum(x) > 9, lambda: x * 2, lambda: x * 3), 3 * A, np.full((2, 3), 3.0)),
    "cholesky": (
        lambda x: tf.linalg.cholesky(tf.matmul(x, x, transpose_b=True)),
        [[0.559017, 0], [1.565248, 0.821584]],
        [[-1.214397, -0.038546, 1.137306], [0.912871, 0.812362, 0.711853]],
    ),
    "determinant": (
        lambda x: tf.linalg.det(tf.matmul(x, x, transpose_b=True)),
        0.2109375,
        [[-1.3125, -0.1875, 0.9375], [0.46875, 0.1875, -0.09375]],
    ),
    "frames": (
        lambda x: tf.signal.frame(x, 2, 1),
        [[[0, 0.25], [0.25, 0.5]], [[0.75, 1.0], [1.0, 1.25]]],
        [[1, 2, 1]] * 2,
    ),
    "a vector of all": (lambda x: tf.reshape(x, [-1])[1:3], [0.25, 0.5], [[0, 1, 1], [0, 0, 0]]),
}


@pytest.mark.parametrize("name", CASES)
def test_a_call_waits_for_the_rank(session, name):
    use, value, dx = CASES[name]
    x = tf.placeholder(tf.float32)
    y = use(x)
    got, gradient = session.run([y, tf.gradients(y, x)[0]], {x: A})
    same(got, value)
    same(gradient, dx)


def test_another_rank_in_the_next_run(session):
    x = tf.placeholder(tf.float32)
    y = tf.reduce_mean(x, axis=-1)
    same(session.run(y, {x: A}), [0.25, 1.0])
    same(session.run(y, {x: A[1]}), 1.0)


def test_variables_train_on_unknown_ranks(session):
    x, y = tf.placeholder(tf.float32), tf.placeholder(tf.float32)
    w = tf.Variable(np.ones((3, 1), np.float32))
    loss = tf.reduce_mean(tf.square(tf.matmul(x, w) - y))
    step = tf.train.GradientDescentOptimizer(0.1).minimize(loss)
    session.run(tf.global_variables_initializer())
    for _ in range(2):
        session.run(step, {x: A, y: [[1.0], [2.0]]})
    same(session.run(w)[:, 0], [0.8717969, 0.8435547, 0.8153125])


def test_a_shape_that_is_not_known(session):
    x = tf.placeholder(tf.float32)
    assert str(x.shape) == str((x * 2 + tf.ones([3])).shape) == str(tf.matmul(x, B).shape) == "<unknown>"
    assert x.get_shape().ndims is None
    assert tf.transpose(x, [1, 0]).shape.as_list() == [None, None]


# Functions over rows of unknown rank: what they give of A, and its gradient.
ROWS = {
    "map_fn": (lambda x: tf.map_fn(lambda row: tf.reduce_sum(row * row), x), [0.3125, 3.125], 2 * A),
    "a map to two": (lambda x: tf.map_fn(lambda r: (r * 2, tf.reduce_sum(r)), x, (tf.float32, tf.float32))[0], 2 * A, None),
    "scan": (
        lambda x: tf.scan(lambda a, row: a * 0.5 + tf.reduce_sum(row), x, initializer=1.0),
        [1.25, 3.625],
        [[1.5] * 3, [1] * 3],
    ),
    "scan from a row": (lambda x: tf.scan(lambda a, row: a + row, x), np.cumsum(A, 0), [[2] * 3, [1] * 3]),
    "foldl": (lambda x: tf.foldl(lambda a, row: a * row + 1, x), [1.0, 1.25, 1.625], [A[1], A[0]]),
    "a loop": (
        lambda x: tf.while_loop(lambda i, y: i < 3, lambda i, y: (i + 1, y * 2.0), [0, x])[1],
        8 * A,
        np.full((2, 3), 8.0),
    ),
    "rows at once": (lambda x: tf.vectorized_map(lambda row: row * 2.0, x), 2 * A, np.full((2, 3), 2.0)),
}


@pytest.mark.parametrize("name", ROWS)
def test_functions_over_rows(session, name):
    use, value, dx = ROWS[name]
    x = tf.placeholder(tf.float32)
    y = use(x)
    same(session.run(y, {x: A}), value)
    if dx is not None:
        same(session.run(tf.gradients(y, x)[0], {x: A}), dx)


def test_a_function_over_rows_that_takes_from_around_it(session):
    x, v = tf.placeholder(tf.float32), tf.get_variable("v", initializer=A)
    y = tf.map_fn(lambda row: tf.matmul(row, v), x)
    session.run(v.initializer)
    dx, dv = session.run(tf.gradients(y, [x, v]), {x: np.ones((2, 2, 2))})
    same([dx, dv], [[[[0.75, 3.0]] * 2] * 2, np.full((2, 3), 4.0)])
    same(session.run(y, {x: np.ones((1, 1, 2))}), [[[0.75, 1.25, 1.75]]])
    assert str(tf.map_fn(tf.reduce_sum, x).shape) == "(None,)"


def test_a_loop_whose_variable_changes_its_rank(session):
    x, n = tf.placeholder(tf.float32, [None]), tf.placeholder(tf.int32, [])
    shapes = [tf.TensorShape([]), tf.TensorShape(None)]
    _, y = tf.while_loop(lambda i, a: i < n, lambda i, a: (i + 1, tf.stack([a, a * 2.0])), [0, x], shapes)
    assert y.shape.rank is None
    same(session.run([y, *tf.gradients(y, x)], {x: [1.0, 2.0], n: 2}), [[[[1, 2], [2, 4]], [[2, 4], [4, 8]]], [9.0, 9.0]])
    same(session.run(y, {x: [1.0], n: 0}), [1.0])


def test_an_error_names_no_extents_that_nobody_gave(session):
    x = tf.placeholder(tf.float32, [None])
    with pytest.raises(ValueError, match=r"shape \(None,\) before the loop, but shape \(2, None\) after"):
        tf.while_loop(lambda a: True, lambda a: tf.stack([a, a]), [x])
    with pytest.raises(ValueError, match=r"Incompatible shapes: \[\?,3\] vs. \[2,4\]"):
        tf.ones([tf.shape(x)[0], 3]) + tf.ones([2, 4])


@pytest.mark.parametrize("shape", [[2, 2], [None, 2]])
def test_a_gradient_in_a_function_of_a_branch_whose_sides_have_other_ranks(shape):
    @tf.function
    def slope(x, on):
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = tf.reduce_sum(tf.cond(on, lambda: x * 2.0, lambda: tf.reshape(x, [-1]) * 3.0))
        return tape.gradient(y, x)

    with tf.Graph().as_default(), tf.Session() as session:
        x, on = tf.placeholder(tf.float32, shape), tf.placeholder(tf.bool, [])
        found = slope(x, on)
        results = [session.run(found, {x: np.ones([2, 2]), on: side}).tolist() for side in (True, False)]
    assert results == [[[2.0, 2.0]] * 2, [[3.0, 3.0]] * 2]


def test_a_gradient_in_a_function_of_a_loop_that_changes_a_rank():
    @tf.function
    def slope(x):
        with tf.GradientTape() as tape:
            tape.watch(x)
            shapes = [tf.TensorShape([]), tf.TensorShape(None)]
            _, y = tf.while_loop(lambda i, y: i < 2, lambda i, y: (i + 1, y[None] * 2.0), [0, x], shape_invariants=shapes)
            y = tf.reduce_sum(y)
        return tape.gradient(y, x)

    with tf.Graph().as_default(), tf.Session() as session:
        x = tf.placeholder(tf.float32, [2])
        assert session.run(slope(x), {x: [1.0, 1.0]}).tolist() == [4.0, 4.0]


def test_a_gradient_in_a_function_through_rows_of_unknown_rank():
    with tf.Graph().as_default(), tf.Session() as session:
        x, w = tf.placeholder(tf.float32), tf.constant(2.0)

        @tf.function
        def slope(w):
            with tf.GradientTape() as tape:
                tape.watch(w)
                y = tf.map_fn(lambda row: row * w, x)
            return tape.gradient(y, w)

        assert session.run(slope(w), {x: np.ones(3)}) == 3.0


def test_the_parts_of_a_sparse_tensor_have_known_ranks():
    with tf.Graph().as_default(), tf.Session() as session:
        given = tf.SparseTensor(tf.placeholder(tf.int64), tf.placeholder(tf.float32), tf.placeholder(tf.int64))
        assert [part.shape.rank for part in (given.indices, given.values, given.dense_shape)] == [2, 1, 1]
        ordered = tf.sparse.reorder(given)
        value = tf.SparseTensorValue(np.array([[1, 0], [0, 1]]), np.array([1.0, 2.0]), np.array([5, 6]))
        found = session.run(ordered, {given: value})
        assert found.indices.tolist() == [[0, 1], [1, 0]] and found.values.tolist() == [2.0, 1.0]
        known = tf.SparseTensor(tf.placeholder(tf.int64, [1, 3]), tf.placeholder(tf.float32), tf.placeholder(tf.int64))
        assert known.shape.as_list() == [None] * 3


def test_operators_and_the_number_of_a_branch(session):
    x, n = tf.placeholder(tf.float32), tf.placeholder(tf.int32)
    same(session.run(x @ tf.constant(B), {x: A}), A @ B)
    y = tf.switch_case(n, [lambda: x, lambda: x * 2])
    for number in (0, 1):
        same(session.run(y, {x: A, n: number}), A * (number + 1))
