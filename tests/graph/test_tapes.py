"""Tapes in graphs, over calls that a graph keeps because shapes are not known: their numbers are those of eager code."""

import numpy as np
import pytest

import gradtape as tf

X = np.array([1.0, -2.0, 3.0])


def weighted(values):
    """The product with a matrix that has a column for each value."""
    numbers = tf.cast(tf.range(3 * tf.size(values)), tf.float64)
    return tf.linalg.matvec(tf.transpose(tf.reshape(tf.cos(1.0 + numbers), [-1, 3])), values)


CALLS = {
    "square": lambda x: x * x,
    "softmax": lambda x: tf.nn.softmax(x) * x,
    "reshape": lambda x: tf.reshape(x * x, [-1, 1]),
    "concat": lambda x: tf.concat([x, x * x], 0),
    "twice the same": lambda x: tf.tensordot(x, x, 1),
    "gather": lambda x: tf.gather(x * x, [0, 1]),
    "slice": lambda x: (x * x)[1:],
    "mask": lambda x: tf.boolean_mask(x * x, x > 0.0),
    "where": lambda x: tf.gather_nd(x * x, tf.where(x > 0.0)),
    "mean": lambda x: tf.reduce_mean(x * x),
    "cumsum": lambda x: tf.cumsum(x) * x,
    "sort": lambda x: tf.sort(x * x),
    "parts": lambda x: tf.dynamic_partition(x * x, tf.cast(x > 0.0, tf.int32), 2)[1],
    "a range of its size": lambda x: weighted(tf.boolean_mask(x * x, x > 0.0)),
    "no gradient": lambda x: tf.cast(tf.size(tf.boolean_mask(x, x > 0.0)), tf.float64) * tf.ones_like(x),
}


def gradients(f, x):
    """The value, the first and the second derivative."""
    with tf.GradientTape() as outer:
        outer.watch(x)
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = f(x)
        first = tape.gradient(y, x, unconnected_gradients="zero")
    return y, first, outer.gradient(first, x, unconnected_gradients="zero")


GRAPH, FUNCTION = (lambda f: f), tf.function
WAYS = {
    "known": (GRAPH, (3,)),
    "open": (GRAPH, (None,)),
    "any rank": (GRAPH, None),
    "function, known": (FUNCTION, (3,)),
    "function, open": (FUNCTION, (None,)),
}


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("name", CALLS)
def test_a_tape_in_a_graph(name, way):
    compiled, shape = WAYS[way]
    f = compiled(lambda x: gradients(CALLS[name], x))
    expected = gradients(CALLS[name], tf.constant(X))
    with tf.compat.v1.Graph().as_default():
        x = tf.compat.v1.placeholder(tf.float64, shape)
        fetches = [tf.convert_to_tensor(part) for part in f(x)]
        with tf.compat.v1.Session() as session:
            for received, wanted in zip(session.run(fetches, {x: X}), expected, strict=True):
                np.testing.assert_allclose(received, tf.convert_to_tensor(wanted).numpy(), 1e-12, 1e-12)


def test_of_two_sources_one_may_be_unconnected(session):
    x = tf.compat.v1.placeholder(tf.float64, (None,))
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = tf.cast(tf.shape(tf.boolean_mask(x, x > 0.0)), tf.float64)
    assert tape.gradient(y, x) is None


def test_a_jacobian_of_what_is_masked(session):
    x = tf.compat.v1.placeholder(tf.float64, (3,))
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = tf.reduce_sum(tf.boolean_mask(x * x, x > 0.0)) * tf.ones([2], tf.float64)
    assert session.run(tape.jacobian(y, x), {x: X}).tolist() == [[2.0, 0.0, 6.0]] * 2


def test_the_shape_of_a_sparse_tensor_that_depends_on_values(session):
    logits = np.random.default_rng(0).standard_normal((4, 2, 3))

    def shape(x):
        (decoded,), _ = tf.nn.ctc_greedy_decoder(x, tf.constant([4, 3]))
        return decoded.dense_shape

    x = tf.compat.v1.placeholder(tf.float64, logits.shape)
    assert session.run(tf.function(shape)(x), {x: logits}).tolist() == [2, 2]


def test_a_shape_that_depends_on_equal_neighbours(session):
    """No axis is taken for known because a few numbers that were tried gave the same extent."""
    labels = tf.compat.v1.placeholder(tf.int32, (2, 4))
    collapsed, _ = tf.nn.collapse_repeated(labels, tf.constant([4, 4]))
    assert collapsed.shape.as_list() in ([2, None], [None, None])
    assert session.run(tf.reshape(collapsed, [-1]), {labels: [[1, 1, 2, 2], [1, 2, 3, 3]]}).tolist() == [1, 2, 0, 1, 2, 3]


def powers(x, trips):
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = x
        for _ in tf.range(trips):
            kinds = tf.unique(tf.cast(y > 0.0, tf.int32)).y
            y = tf.sin(y) * tf.reduce_sum(tf.cast(kinds, tf.float32) + 1.0)
        y = tf.reduce_sum(y * y)
    return y, tape.gradient(y, x)


@pytest.mark.parametrize("shape", [(3,), (None,)])
def test_a_tape_over_a_loop_in_a_function_that_a_session_runs_op_by_op(session, shape):
    x, trips = tf.compat.v1.placeholder(tf.float32, shape), tf.compat.v1.placeholder(tf.int32, ())
    value, slope = session.run(tf.function(powers)(x, trips), {x: [0.1, 0.5, -1.0], trips: 3})
    np.testing.assert_allclose(value, 14.398933, 1e-5)
    np.testing.assert_allclose(slope, [75.480774, -3.0949984, -11.593388], 1e-5)


def test_rows_of_a_loop_that_have_several_shapes(session):
    """What a session keeps of each trip for the gradient need not be of one shape."""

    def cubes(x, trips):
        with tf.GradientTape() as tape:
            tape.watch(x)
            total = tf.constant(0.0)
            for i in tf.range(trips):
                some = tf.boolean_mask(x, x > tf.cast(i, tf.float32) * 0.3)
                total += tf.reduce_sum(some * some * some)
        return total, tape.gradient(total, x)

    x, trips = tf.compat.v1.placeholder(tf.float32, (None,)), tf.compat.v1.placeholder(tf.int32, ())
    total, slope = session.run(tf.function(cubes)(x, trips), {x: [0.1, 0.5, 1.0], trips: 3})
    np.testing.assert_allclose(total, 3.251, 1e-6)
    np.testing.assert_allclose(slope, [0.03, 1.5, 9.0], 1e-6)


def test_places_in_a_branch(session):
    def places(x):
        if tf.reduce_sum(x) > 0.0:
            found = tf.reduce_sum(tf.where(tf.reshape(x, [1, 3]) > 0.0))
        else:
            found = tf.constant(7, tf.int64)
        return found

    x = tf.compat.v1.placeholder(tf.float64, (3,))
    chosen = tf.function(places)(x)
    assert [session.run(chosen, {x: given}) for given in ([1.0, 0.0, 2.0], [-1.0, 0.0, 0.0])] == [2, 7]


def test_an_extent_that_depends_on_values_in_half_precision(session):
    x = tf.compat.v1.placeholder(tf.bfloat16, (3,))
    assert tf.unique(x).y.shape.as_list() == [None]
