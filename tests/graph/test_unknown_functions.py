"""Calls that take functions, on placeholders of unknown extents and rank. Numbers are TensorFlow 2.21's."""

import numpy as np
import pytest

import gradtape.compat.v1 as tf
from tests.graph.values import same

ROW = np.array([1, 2, 3], np.float32)


def run(fetches, feeds):
    session = tf.get_default_session()
    session.run(tf.global_variables_initializer())
    return session.run(fetches, feeds)


def two():
    return tf.get_variable("two", [], initializer=tf.constant_initializer(2.0))


@pytest.mark.parametrize("shape", [(), (2,), (1, 1, 2, 1, 1, 1, 1)])
def test_a_function_is_called_with_the_rank_that_is_fed(session, shape):
    v, x = two(), tf.placeholder(tf.float32)
    y = tf.function(lambda a: a * a * v)(x)
    value, dx, dv = run([y, *tf.gradients(y, [x, v])], {x: np.full(shape, 3.0)})
    assert y.shape.rank is None
    same(value, np.full(shape, 18.0))
    same(dx, np.full(shape, 12.0))
    same(dv, 9.0 * np.size(value))


def test_a_function_may_be_called_in_a_branch_or_loop(session):
    v, x, p = two(), tf.placeholder(tf.float32), tf.placeholder(tf.bool, [])
    f = tf.function(lambda a: tf.reduce_sum(a * a) * v)
    y = tf.cond(p, lambda: f(x), lambda: f(x * 2) * 3)
    fetches = [y, *tf.gradients(y, [x, v])]
    for found, expected in zip(run(fetches, {x: ROW, p: True}), (28.0, [4, 8, 12], 14.0), strict=True):
        same(found, expected)
    for found, expected in zip(run(fetches, {x: ROW[None], p: False}), (336.0, [[48, 96, 144]], 168.0), strict=True):
        same(found, expected)
    total = tf.while_loop(lambda i, t: i < 3, lambda i, t: (i + 1, t + f(x)), [0, 0.0])[1]
    same(run(total, {x: ROW}), 84.0)


def test_a_map_in_a_branch(session):
    x, p = tf.placeholder(tf.float32), tf.placeholder(tf.bool, [])
    y = tf.cond(p, lambda: tf.map_fn(lambda row: row * 2, x), lambda: x)
    fetches = [y, *tf.gradients(y, [x])]
    same(np.stack(run(fetches, {x: ROW, p: True})), [[2, 4, 6], [2, 2, 2]])
    same(np.stack(run(fetches, {x: ROW[None], p: False})), [[[1, 2, 3]], [[1, 1, 1]]])


def test_a_loop_over_the_rows_of_a_tensor_of_unknown_rank(session):
    x = tf.placeholder(tf.float32)
    y = tf.while_loop(lambda k, a: k < tf.shape(x)[0], lambda k, a: (k + 1, a + x[k]), [tf.constant(0), x[0]])[1]
    fetches = [y, *tf.gradients(y, [x])]
    value, dx = run(fetches, {x: np.ones(3)})
    same(value, 4.0)
    same(dx, [2, 1, 1])
    value, dx = run(fetches, {x: np.ones((2, 2))})
    same(value, [3, 3])
    same(dx, [[2, 2], [1, 1]])


@pytest.mark.parametrize("inside", [False, True])
def test_the_function_of_a_call_that_looks_at_extents(session, inside):
    v, k, x = two(), tf.placeholder(tf.float32, []), tf.placeholder(tf.float32, [None, None, None])

    def phases():
        scale = k * 1.0  # of the branch, if this is called in one
        return tf.nn.with_space_to_batch(x, [2], "VALID", lambda x, axes, padding: (x[:, 1:] - x[:, :-1]) * v * scale)

    y = tf.cond(k > 0, phases, lambda: x) if inside else phases()
    squares = np.arange(6.0).reshape(1, 6, 1) ** 2
    value, dx, dv, dk = run([y, *tf.gradients(y, [x, v, k])], {x: squares, k: 3.0})
    same(value.ravel(), [24, 48, 72, 96])
    same(dx.ravel(), [-6, -6, 0, 0, 6, 6])
    same((dv, dk), (120, 80))
    same(run(y, {x: squares[:, :5], k: 3.0}).ravel(), [24, 48, 72])


def test_what_a_function_of_a_call_draws_is_tensorflows(session):
    tf.set_random_seed(1)
    x = tf.placeholder(tf.float32, [None])
    y = tf.nn.experimental.general_dropout(x, 0.5, lambda shape, dtype: tf.random.uniform(shape, dtype=dtype, seed=3))
    value, dx = run([y, *tf.gradients(y, x)], {x: np.ones(8)})
    same(value, [2, 2, 2, 0, 2, 0, 2, 2])
    same(dx, value)


def test_no_gradient_goes_through_numpy_functions(session):
    x = tf.placeholder(tf.float32, [None])
    y = tf.numpy_function(lambda a: a * 2, [x], tf.float32)
    assert tf.gradients(y, x) == [None]
    same(run(tf.gradients(y * x, x), {x: ROW}), [[2, 4, 6]])


def test_decoded_rows_are_as_many_as_there_are(session):
    x, n = tf.placeholder(tf.float32, [None, None, None]), tf.placeholder(tf.int32, [None])
    (decoded,), certain = tf.nn.ctc_greedy_decoder(x, n)
    shapes = [t.shape.as_list() for t in (decoded.indices, decoded.values, certain)]
    assert shapes == [[None, 2], [None], [None, 1]]
    frames = np.zeros((3, 2, 3))
    frames[[0, 2], 0, 1] = frames[1, 0, 0] = frames[:, 1, 0] = 1
    fetches = [decoded.indices, decoded.values, decoded.dense_shape, certain]
    places, values, shape, score = run(fetches, {x: frames, n: [3, 2]})
    assert places.tolist() == [[0, 0], [0, 1], [0, 2], [1, 0]]
    assert (values.tolist(), shape.tolist(), score.tolist()) == ([1, 0, 1, 0], [2, 3], [[-3], [-2]])


def test_the_last_row_of_an_unknown_number(session):
    x = tf.placeholder(tf.float32, [None])
    y = tf.foldr(lambda a, row: row - a, x)
    value, dx = run([y, *tf.gradients(y, x)], {x: ROW})
    same(value, 2.0)
    same(dx, [1, -1, 1])


def test_a_function_that_a_call_gives_text_to_is_no_part_of_what_is_kept(session):
    said, x = [], tf.placeholder(tf.float32, [None])
    with tf.control_dependencies([tf.print("x", x, output_stream=said.append)]):
        y = x * 2
    same(run(y, {x: ROW}), [2, 4, 6])
    assert "".join(said).split("\n")[0] == "x [1 2 3]"


def test_values_at_the_same_places_are_checked_when_the_graph_runs(session):
    x, y = tf.placeholder(tf.float32, [None, None]), tf.placeholder(tf.float32)
    result = tf.sparse.to_dense(tf.sparse.map_values(lambda a, b: a * b, tf.sparse.from_dense(x), tf.sparse.from_dense(y)))
    fetches = [result, *tf.gradients(result, [x, y])]
    a, b = np.array([[1, 0], [2, 3]]), np.array([[4, 0], [5, 6]])
    same(np.stack(run(fetches, {x: a, y: b})), [[[4, 0], [10, 18]], b, a])
    with pytest.raises(tf.errors.InvalidArgumentError, match="Mismatched shapes"):
        run(result, {x: a, y: b[:1]})


CHANGE_RANK = {
    "branches": lambda x, p: tf.cond(p, lambda: tf.expand_dims(x, 0), lambda: x),
    "a scalar": lambda x, p: tf.cond(p, lambda: tf.reduce_sum(x), lambda: x),
    "one of two": lambda x, p: tf.case([(p, lambda: tf.expand_dims(x, 0))], default=lambda: x),
    "by number": lambda x, p: tf.switch_case(1 - tf.cast(p, tf.int32), [lambda: tf.expand_dims(x, 0), lambda: x]),
    "branches in branches": lambda x, p: tf.cond(p, lambda: tf.cond(tf.rank(x) > 1, lambda: x[0], lambda: x), lambda: x),
    "a branch in a loop": lambda x, p: tf.while_loop(
        lambda i, a: i < 3, lambda i, a: (i + 1, tf.cond(p, lambda: a * 2, lambda: a + x)), [0, x]
    )[1],
    "a function": lambda x, p: tf.function(lambda a: tf.cond(p, lambda: tf.expand_dims(a, 0), lambda: a))(x),
}


@pytest.mark.parametrize("make", CHANGE_RANK.values(), ids=CHANGE_RANK.keys())
def test_results_of_branches_on_what_has_no_rank_have_none(session, make):
    """`tf.shape` of such a result was that of a scalar."""
    x, p = tf.placeholder(tf.float32), tf.placeholder(tf.bool, [])
    y = make(x, p)
    assert y.shape.rank is None
    fetches = [y, tf.shape(y), tf.rank(y), tf.size(y), tf.reduce_sum(y), tf.reshape(y, [-1]), *tf.gradients(y * y, x)]
    for given, holds in ((np.full((2, 2), 2.0), True), (np.full((2, 2), 2.0), False), (ROW, True)):
        value, shape, rank, size, total, flat, dx = run(fetches, {x: given, p: holds})
        assert (shape.tolist(), rank, size, total) == (list(value.shape), value.ndim, value.size, value.sum())
        same(flat, value.ravel())
        assert dx.shape == given.shape


def test_a_branch_on_what_has_no_rank_takes_a_stated_one(session):
    x, p = tf.placeholder(tf.float32), tf.placeholder(tf.bool, [])
    y = tf.cond(p, lambda: x, lambda: x * 2)
    y.set_shape([None, 2])
    assert y.shape.as_list() == [None, 2]
    same(run(tf.shape(y), {x: np.ones((3, 2)), p: True}), [3, 2])
