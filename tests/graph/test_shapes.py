"""Placeholders with unknown extents: what a graph shows of shapes, and what a run makes of them."""

import numpy as np
import pytest

import gradtape.compat.v1 as tf
from tests.graph.values import same

IMAGE = np.arange(24, dtype=np.float32).reshape(2, 4, 3)

# what is made of a placeholder x of shape [None, None, 3] → (the shape in the graph, the value for IMAGE)
MADE = {
    "itself": (lambda x: x * 1.0, (None, None, 3), IMAGE),
    "one axis kept": (lambda x: tf.reshape(x, [tf.shape(x)[0], -1]), (None, None), IMAGE.reshape(2, 12)),
    "rows": (lambda x: tf.reshape(x, [-1, 3]), (None, 3), IMAGE.reshape(8, 3)),
    "flat": (lambda x: tf.reshape(x, [-1]), (None,), IMAGE.ravel()),
    "there and back": (lambda x: tf.reshape(tf.reshape(x, [-1]), tf.shape(x)), (None, None, 3), IMAGE),
    "product of extents": (lambda x: tf.reshape(x, [tf.shape(x)[0] * tf.shape(x)[1], 3]), (None, 3), IMAGE.reshape(8, 3)),
    "transposed": (lambda x: tf.transpose(x, [1, 0, 2]), (None, None, 3), IMAGE.transpose(1, 0, 2)),
    "zeros": (tf.zeros_like, (None, None, 3), np.zeros_like(IMAGE)),
    "joined": (lambda x: tf.concat([x, x], 1), (None, None, 3), np.concatenate([IMAGE, IMAGE], 1)),
    "new axis": (lambda x: tf.expand_dims(x, 0), (1, None, None, 3), IMAGE[None]),
    "last row": (lambda x: x[-1], (None, 3), IMAGE[-1]),
    "all but the first": (lambda x: x[1:], (None, None, 3), IMAGE[1:]),
    "all but the last column": (lambda x: x[:, :-1], (None, None, 3), IMAGE[:, :-1]),
    "mean": (lambda x: tf.reduce_mean(x, [0, 1]), (3,), IMAGE.mean((0, 1))),
    "filled": (lambda x: tf.fill([tf.shape(x)[1], 2], 7.0), (None, 2), np.full((4, 2), 7.0)),
    "numbers": (lambda x: tf.range(tf.shape(x)[1]), (None,), np.arange(4)),
    "size": (lambda x: tf.size(x), (), 24),
    "tiled": (lambda x: tf.tile(x, [1, 2, 1]), (None, None, 3), np.tile(IMAGE, (1, 2, 1))),
    "padded": (lambda x: tf.pad(x, [[0, 0], [1, 0], [0, 0]]), (None, None, 3), np.pad(IMAGE, ((0, 0), (1, 0), (0, 0)))),
    "row by row": (lambda x: tf.map_fn(lambda row: row * row, x), (None, None, 3), IMAGE**2),
}


@pytest.mark.parametrize("make, shape, value", MADE.values(), ids=MADE)
def test_unknown_extents(session, make, shape, value):
    x = tf.placeholder(tf.float32, [None, None, 3])
    made = make(x)
    assert made.shape.as_list() == list(shape)
    same(session.run(made, {x: IMAGE}), value)


def test_a_program_serves_each_size(session):
    x = tf.placeholder(tf.float32, [None, 2])
    loss = tf.reduce_mean(tf.square(x))
    (dx,) = tf.gradients(loss, x)
    for rows in (1, 3, 4):
        same(session.run(dx, {x: np.ones((rows, 2))}), np.full((rows, 2), 1 / rows, np.float32))


def test_how_shapes_print(session):
    x = tf.placeholder(tf.float32, [None, 784], name="x")
    assert str(x) == 'Tensor("x:0", shape=(None, 784), dtype=float32)'
    assert repr(x) == "<tf.Tensor 'x:0' shape=(None, 784) dtype=float32>"
    assert x.shape[0] is None
    assert x.get_shape().as_list() == [None, 784]


def test_a_placeholder_of_integers_gives_a_shape(session):
    count = tf.placeholder(tf.int32, [])
    made = tf.ones([count, 2])
    assert made.shape.as_list() == [None, 2]
    assert [session.run(made, {count: n}).shape for n in (1, 3)] == [(1, 2), (3, 2)]


def test_set_shape(session):
    x = tf.placeholder(tf.float32, [None, None])
    x.set_shape([None, 3])
    assert x.shape.as_list() == [None, 3]
    with pytest.raises(ValueError, match="not compatible with supplied shape"):
        x.set_shape([None, 4])


def test_an_unknown_extent_meets_a_known_one(session):
    x = tf.placeholder(tf.float32, [None, 3])
    total = x + tf.ones([2, 3])
    (dx,) = tf.gradients(total * total, x)
    assert total.shape == (2, 3)
    same(session.run(dx, {x: np.ones((2, 3))}), np.full((2, 3), 4.0))
    with pytest.raises(tf.errors.InvalidArgumentError, match="Incompatible shapes"):
        session.run(total, {x: np.ones((4, 3))})


@pytest.mark.parametrize(
    "use, value, dx",
    [
        (tf.reduce_sum, 10.0, [[1.0, 1.0], [1.0, 1.0]]),
        (tf.reduce_mean, 2.5, [[0.25, 0.25], [0.25, 0.25]]),
        (tf.reduce_max, 4.0, [[0.0, 0.0], [0.0, 1.0]]),
        (lambda x: tf.reduce_sum(x, keepdims=True), [[10.0]], [[1.0, 1.0], [1.0, 1.0]]),
        (lambda x: tf.reduce_sum(x * 3.0) / tf.cast(tf.size(x * 2.0), tf.float32), 7.5, [[0.75, 0.75], [0.75, 0.75]]),
        (lambda x: tf.losses.mean_squared_error(x * 2.0, x), 7.5, [[0.5, 1.0], [1.5, 2.0]]),
        (lambda x: tf.reshape(x, [-1]), [1.0, 2.0, 3.0, 4.0], [[1.0, 1.0], [1.0, 1.0]]),
        (tf.shape, [2, 2], None),
        (tf.rank, 2, None),
        (tf.ones_like, [[1.0, 1.0], [1.0, 1.0]], None),
        (lambda x: tf.zeros_like(tf.exp(x)), [[0.0, 0.0], [0.0, 0.0]], None),
    ],
)
def test_without_a_shape_the_whole_is_taken(session, use, value, dx):
    x = tf.placeholder(tf.float32)
    y = use(x)
    gradient = tf.gradients(y, x)[0] if dx is not None else None
    fed = {x: [[1.0, 2.0], [3.0, 4.0]]}
    same(session.run(y, fed), value)
    if gradient is not None:
        same(session.run(gradient, fed), dx)
    assert np.size(session.run(y, {x: 2.0})) == (0 if use is tf.shape else 1)


def test_without_a_shape_other_ranks_can_be_fed(session):
    x = tf.placeholder(tf.float32)
    y = tf.exp(x) * 2 + x
    same(session.run(y, {x: 1.0}), 6.4365635)
    same(session.run(y, {x: [1.0, 2.0]}), [6.4365635, 16.778112])
    with pytest.raises(tf.errors.InvalidArgumentError, match="ndims must be >= 2"):
        session.run(tf.matmul(x, tf.ones([2, 2])), {x: [1.0, 2.0]})


def test_a_default_value(session):
    x = tf.placeholder_with_default([1.0, 2.0], [None])
    y = x * 2
    assert y.shape.as_list() == [None]
    same(session.run(y), [2.0, 4.0])
    same(session.run(y, {x: [5.0]}), [10.0])


def test_convolutions(session):
    x = tf.placeholder(tf.float32, [None, 8, 8, 1])
    w = tf.Variable(tf.ones([3, 3, 1, 2]))
    pooled = tf.nn.max_pool(tf.nn.relu(tf.nn.conv2d(x, w, [1, 1, 1, 1], "SAME")), [1, 2, 2, 1], [1, 2, 2, 1], "SAME")
    flat = tf.reshape(pooled, [-1, 4 * 4 * 2])
    session.run(w.initializer)
    assert (pooled.shape.as_list(), flat.shape.as_list()) == ([None, 4, 4, 2], [None, 32])
    assert session.run(tf.reduce_mean(flat), {x: np.ones((2, 8, 8, 1))}) == 9.0
