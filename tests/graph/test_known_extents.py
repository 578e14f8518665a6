"""Where an extent that is not known meets one that is, the graph takes them for the same; the run finds out."""

import numpy as np
import pytest

import gradtape.compat.v1 as tf

X = np.array([[1.0, 2.0], [-3.0, 5.0], [0.0, 1.0]], np.float32)
ONES = np.ones([3, 2], np.float32)
ENTROPY = np.log(np.exp(X).sum(1)) * 2 - X.sum(1)

MADE = {
    "cross-entropy of known labels": (
        lambda x, c: tf.nn.softmax_cross_entropy_with_logits(labels=c, logits=x),
        ENTROPY,
    ),
    "of each class": (
        lambda x, c: tf.nn.sigmoid_cross_entropy_with_logits(labels=c, logits=x),
        np.log1p(np.exp(-X)),
    ),
    "mean squared error": (lambda x, c: tf.losses.mean_squared_error(c, x), ((X - 1) ** 2).mean()),
    "reshape to what is known": (lambda x, c: tf.reshape(x, [3, 2]) + c, X + 1),
    "reshape to rows of another length": (lambda x, c: tf.reshape(x, [-1, 3]), X.reshape(2, 3)),
    "assign": (lambda x, c: tf.assign(tf.Variable(c), x), X),
    "split": (lambda x, c: tf.split(x, 3)[1], X[1:2]),
    "unstack": (lambda x, c: tf.unstack(x, 3)[2], X[2]),
    "row by row": (lambda x, c: tf.map_fn(lambda a: a[0] + a[1], (x, c), dtype=tf.float32), X + 1),
    "branches": (lambda x, c: tf.cond(x[0, 0] > 0, lambda: x, lambda: c), X),
    "loop": (lambda x, c: tf.while_loop(lambda i, a: i < 2, lambda i, a: (i + 1, a + c), [0, x])[1], X + 2),
    "bounds": (lambda x, c: tf.clip_by_value(x, -c, c), X.clip(-1, 1)),
    "mask": (lambda x, c: tf.boolean_mask(x, [True, False, True]), X[[0, 2]]),
    "broadcast": (lambda x, c: tf.broadcast_to(x, [2, 3, 2])[1], X),
    "segments": (lambda x, c: tf.segment_sum(x, [0, 1, 1]), [X[0], X[1] + X[2]]),
    "partition": (lambda x, c: tf.dynamic_partition(x, [0, 1, 0], 2)[0], X[[0, 2]]),
    "a stated shape": (lambda x, c: tf.ensure_shape(x, [3, 2]), X),
}


@pytest.mark.parametrize("make, value", MADE.values(), ids=MADE)
def test_an_extent_that_is_not_known_beside_one_that_is(session, make, value):
    x = tf.placeholder(tf.float32, [None, 2])
    made = make(x, tf.constant(ONES))
    session.run(tf.global_variables_initializer())
    np.testing.assert_allclose(session.run(made, {x: X}), value, 1e-5, 1e-6)


def test_the_run_finds_extents_that_differ(session):
    x = tf.placeholder(tf.float32, [None, 2])
    loss = tf.nn.sigmoid_cross_entropy_with_logits(labels=tf.constant(ONES), logits=x)
    with pytest.raises(tf.errors.InvalidArgumentError, match="`logits` and `labels` must have the same shape"):
        session.run(loss, {x: X[:2]})


def test_a_convolutional_network_with_labels_that_are_known(session):
    x = tf.placeholder(tf.float32, [None, 16])
    kernel = tf.Variable(np.linspace(-1, 1, 18).reshape(3, 3, 1, 2), dtype=tf.float32)
    hidden = tf.nn.relu(tf.nn.conv2d(tf.reshape(x, [-1, 4, 4, 1]), kernel, strides=[1, 1, 1, 1], padding="SAME") + 0.1)
    pooled = tf.nn.max_pool(hidden, ksize=[1, 2, 2, 1], strides=[1, 2, 2, 1], padding="SAME")
    scores = tf.matmul(tf.reshape(pooled, [-1, 8]), tf.constant(np.linspace(-1, 1, 16).reshape(8, 2), tf.float32))
    loss = tf.reduce_mean(tf.nn.softmax_cross_entropy_with_logits(labels=tf.constant([[1.0, 0.0], [0.0, 1.0]]), logits=scores))
    step = tf.train.GradientDescentOptimizer(0.1).minimize(loss)
    session.run(tf.global_variables_initializer())
    images = np.arange(32).reshape(2, 16) / 32
    losses = [session.run([loss, step], {x: images})[0] for _ in range(3)]
    np.testing.assert_allclose(losses, [0.6824292, 0.6821624, 0.6819023], 1e-5)  # TensorFlow's
    assert pooled.shape.as_list() == [None, 2, 2, 2]


SHAPES = [
    (lambda x, y: tf.range(tf.constant(3, tf.int64)), "(3,)"),
    (lambda x, y: tf.range(1, tf.constant(3.0)), "(2,)"),
    (lambda x, y: tf.range(tf.shape(x)[0], 10, 2), "(None,)"),
    (lambda x, y: tf.linspace(0.0, 1.0, tf.shape(x)[0]), "(None,)"),
    (lambda x, y: tf.ensure_shape(x, [3, 2]), "(3, 2)"),
    (lambda x, y: tf.ensure_shape(y, [None, 2]), "(None, 2)"),
    (lambda x, y: tf.unique([1, 2, 1])[1], "(3,)"),
    (lambda x, y: tf.unique([1, 2, 1])[0], "(None,)"),
    (lambda x, y: tf.IndexedSlices(x, [0, 2], tf.constant([5, 2])), "(5, 2)"),
]


@pytest.mark.parametrize("make, shape", SHAPES)
def test_shapes_known_before_the_run(make, shape):
    with tf.Graph().as_default():
        assert str(make(tf.placeholder(tf.float32, [None, 2]), tf.placeholder(tf.float32)).shape) == shape


def test_numbers_that_a_run_counts(session):
    x = tf.placeholder(tf.int32, [])
    assert session.run(tf.linspace(0.0, 1.0, x), {x: 3}).tolist() == [0.0, 0.5, 1.0]
    assert session.run(tf.range(x, 10, 2), {x: 5}).tolist() == [5, 7, 9]


@pytest.mark.parametrize("function", [tf.reduce_sum, tf.argmax, tf.cumsum, tf.expand_dims])
def test_an_axis_that_is_fed(session, function):
    axis = tf.placeholder(tf.int32, [])
    made = function(tf.constant(X), axis)
    for known in (0, 1):
        expected = function(tf.constant(X), known)
        assert np.array_equal(*session.run([made, expected], {axis: known}))


FOUR = {
    "zeros": lambda n: tf.zeros([n, 2])[:, 0],
    "fill": lambda n: tf.fill([n], 1.0),
    "reshape": lambda n: tf.reshape(tf.range(8), [n, -1])[:, 0],
    "tile": lambda n: tf.tile([1.0], [n]),
    "broadcast": lambda n: tf.broadcast_to(1.0, [n]),
    "one_hot": lambda n: tf.one_hot(1, n),
    "slice": lambda n: tf.slice(tf.zeros([9]), [0], [n]),
    "scatter": lambda n: tf.scatter_nd([[1]], [2.0], [n]),
    "linspace": lambda n: tf.linspace(0.0, 1.0, n),
    "range": tf.range,
}


@pytest.mark.parametrize("name", FOUR)
def test_an_extent_that_is_computed_from_constants_is_known(name):
    with tf.Graph().as_default():
        extent = tf.reduce_max([3, 4])
        for _ in range(60):  # many small ops
            extent = extent + 1 - 1
        assert FOUR[name](extent).shape == [4]


def limited(n):
    return [
        tf.while_loop(lambda a: a < 100.0, lambda a: a * 2.0, [1.0], maximum_iterations=n),
        tf.while_loop(lambda i, a: i < 9, lambda i, a: (i + 1, a * 2.0), (0, 1.0), maximum_iterations=n)[1],
        tf.while_loop(
            lambda i, a: i < n,
            lambda i, a: (i + 1, tf.concat([a, a], 0)),
            [0, tf.ones([1])],
            shape_invariants=[tf.TensorShape([]), tf.TensorShape([None])],
            maximum_iterations=n - 1,
        )[1],
    ]


def test_a_loop_takes_a_limit_that_nobody_knows_before_the_graph_runs():
    with tf.Graph().as_default(), tf.Session() as session:
        n = tf.placeholder(tf.int32, [])
        found = session.run(limited(n), {n: 3})
        assert (found[0], found[1], len(found[2])) == (8.0, 8.0, 4)
        x = tf.constant(2.0)
        y = tf.while_loop(lambda a: a < 100.0, lambda a: a * x, [1.0], maximum_iterations=n)
        assert session.run(tf.gradients(y, x)[0], {n: 3}) == 12.0
