"""A gradient inside of a branch or loop has the shape of its source, whose extent a broadcast may have made another one."""

import numpy as np
import pytest

import gradtape as tf

tf1 = tf.compat.v1
M = np.array([1.0, 2.0, 3.0], np.float32)
GIVEN = {"one": [2.0], "three": [1.0, 2.0, 3.0], "rows": [[1.0, 2.0, 3.0]] * 2}


def gradient(function, x, *others):
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = function(x, *others)
    return tape.gradient(y, x)


def run(fetch, feeds):
    with tf1.Session() as session:
        return session.run(fetch, feeds).tolist()


def product(x, y):
    return x * y


def square(x):
    return (x - M) ** 2


def second(x):
    return gradient(lambda x: (x - M) ** 3, x)


@pytest.mark.parametrize(
    ("function", "names", "expected"),
    [
        (product, ("one", "three"), [6.0]),
        (product, ("three", "one"), [2.0, 2.0, 2.0]),
        (product, ("one", "rows"), [12.0]),
        (product, ("rows", "one"), [[2.0, 2.0, 2.0]] * 2),
        (square, ("three",), [0.0, 0.0, 0.0]),
        (square, ("one",), [0.0]),
        (lambda x: tf.maximum(x, M) ** 2, ("one",), [8.0]),
        (lambda x: tf.where(x > 1.0, x, M) ** 2, ("one",), [12.0]),
        (second, ("one",), [0.0]),
        (second, ("three",), [0.0, 0.0, 0.0]),
        (lambda x: (x[:, None] - x[None] * 2.0) ** 2, ("rows",), [[4.0, 8.0, 12.0]] * 2),
    ],
)
def test_in_a_branch(function, names, expected):
    with tf.Graph().as_default():
        feeds = {name: tf1.placeholder(tf.float32, [None, 3] if name == "rows" else [None]) for name in GIVEN}
        given = [feeds[name] for name in names]
        y = tf.cond(tf.reduce_sum(feeds["one"]) > 0.0, lambda: gradient(function, *given), lambda: given[0])
        assert run(y, {feeds[name]: value for name, value in GIVEN.items()}) == expected


def test_in_rows():
    with tf.Graph().as_default():
        x = tf1.placeholder(tf.float32, [None, None])
        assert run(tf.map_fn(lambda row: gradient(square, row), x), {x: GIVEN["rows"]}) == [[0.0, 0.0, 0.0]] * 2


def objective(x):
    return tf.reduce_sum((x - M[:2]) ** 2 * [1.0, 3.0])


def test_in_a_loop():
    with tf.Graph().as_default():
        x = tf1.placeholder(tf.float32, [None])

        def step(t, p):
            return t + 1.0, p - 0.1 * gradient(objective, p)

        p = tf.while_loop(lambda t, p: t < 3.0, step, [0.0, x])[1]
        assert p.shape.as_list() == [None]
        assert run(p, {x: [0.0, 0.0]}) == pytest.approx([0.488, 1.872], rel=1e-6)


def test_in_loops_of_loops_with_branches():
    """A line search inside of an optimizer's loop."""
    with tf.Graph().as_default():
        x = tf1.placeholder(tf.float32, [None])

        def where(c, a, b):
            ones = tf.ones([a.shape.rank - c.shape.rank], tf.int32)
            return tf.where(tf.reshape(c, tf.concat([tf.shape(c), ones], 0)), a, b)

        def step(t, g, p):
            n = gradient(objective, p)

            def inner(t, q):
                return t + 1.0, where(t > 1.0, q, gradient(objective, p - t * n))

            def searched():
                return where(objective(p) > 1.0, n, tf.while_loop(lambda t, q: t < 3.0, inner, [0.0, n])[1])

            q = tf.cond(objective(p) > 0.1, searched, lambda: n)
            return t + 1.0, where(objective(p) > 1.0, g, q), p - 0.1 * q

        start = [0.0, gradient(objective, x), x]
        g = tf.while_loop(lambda t, g, p: t < 3.0, step, start)[1]
        assert run(g, {x: [0.0, 0.0]}) == pytest.approx([1.28, 9.6], rel=1e-6)
