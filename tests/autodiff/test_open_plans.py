"""Records that differ in extents only share a plan with symbols, and every gradient has the bits that it has without."""

import numpy as np
import pytest

import gradtape as tf
from gradtape._src.autodiff import open_plans


@pytest.fixture
def served(monkeypatch):
    """The extents at which open plans served a record."""
    tf.config.clear_cache()
    found = []
    at = open_plans.OpenPlan.at

    def noted(self, extents):
        found.append(list(extents.values()))
        return at(self, extents)

    monkeypatch.setattr(open_plans.OpenPlan, "at", noted)
    return found


def weights(*shapes):
    random = np.random.default_rng(0)
    return [tf.Variable(random.standard_normal(shape).astype("float32")) for shape in shapes]


W, B, K = weights((4, 4), (4,), (3, 3, 2, 5))


def batch(*shape):
    return tf.constant(np.random.default_rng(sum(shape)).standard_normal(shape).astype("float32"))


def network(rows, columns):
    values = batch(rows, columns, 4)
    for _ in range(2):
        values = tf.tanh(tf.matmul(values, W) + B)
    return tf.reduce_mean(values * values), [W, B]


def attention(rows, columns):
    x = batch(rows, columns, 4) @ W
    heads = tf.transpose(tf.reshape(x, [rows, columns, 2, 2]), [0, 2, 1, 3])
    scores = tf.nn.softmax(tf.matmul(heads, heads, transpose_b=True), -1)
    values = tf.reshape(tf.transpose(scores @ heads, [0, 2, 1, 3]), [rows * columns, 4])
    return tf.reduce_sum(tf.square(values - tf.reduce_mean(values, 0))) / float(rows), [W]


def convolution(rows, columns):
    y = tf.nn.conv2d(batch(2, rows, columns, 2), K, 2, "SAME")
    return tf.reduce_sum(tf.nn.max_pool2d(tf.nn.relu(y), 2, 2, "SAME")), [K]


def slices(rows, columns):
    x = batch(rows, columns) * B[0]
    first, rest = tf.split(x, [1, rows - 1])
    joined = tf.concat([first, tf.pad(rest, [[0, 1], [0, 0]]), x[1:, ::-1]], 0)
    return tf.reduce_max(joined) + tf.reduce_sum(tf.cumsum(joined, 1)), [B]


def rows_of(rows, columns):
    table = tf.gather(W, np.arange(rows * columns).reshape(rows, columns) % 4)
    return tf.reduce_sum(table * batch(columns, 4)), [W]


def broadcast(rows, columns):
    return tf.reduce_prod(1.0 + 0.1 * batch(rows, 1) * batch(1, columns) * B[:1]), [B]


PAIRS = [(2, 3), (5, 7), (3, 6), (4, 9), (6, 5), (7, 7), (1, 8), (8, 1), (9, 2), (3, 3), (6, 4), (4, 16)]
NETWORKS = [network, attention, convolution, slices, rows_of, broadcast]


@pytest.mark.parametrize("of", NETWORKS, ids=lambda f: f.__name__)
def test_gradients_are_those_without_symbols(of, served, monkeypatch):
    def gradients(pair):
        with tf.GradientTape() as tape:
            loss, sources = of(*pair)
        return [loss.numpy(), *[np.asarray(tf.convert_to_tensor(g)) for g in tape.gradient(loss, sources)]]

    ours = [gradients(pair) for pair in PAIRS]
    monkeypatch.setattr(open_plans, "planned", None)
    monkeypatch.setattr("gradtape._src.autodiff.tape.planned", lambda key, record, make: make(record))
    tf.config.clear_cache()
    for pair, found in zip(PAIRS, ours, strict=True):
        for mine, own in zip(found, gradients(pair), strict=True):
            np.testing.assert_array_equal(mine, own, strict=True)
    assert len(served) > 3, served


def test_two_shapes_are_derived_each(served):
    for pair in [(2, 3), (4, 3)] * 3:
        with tf.GradientTape() as tape:
            loss, sources = network(*pair)
        tape.gradient(loss, sources)
    assert not served


def test_the_gradient_of_a_gradient_of_a_new_shape(served):
    found = []
    for rows in (2, 3, 4, 5, 6):
        x = tf.constant(np.linspace(0.5, 1.5, rows).astype("float32"))
        with tf.GradientTape() as outer:
            outer.watch(x)
            with tf.GradientTape() as inner:
                inner.watch(x)
                y = tf.reduce_sum(x**3) / rows
            slope = inner.gradient(y, x)
        found.append(np.allclose(outer.gradient(slope, x), 6 * x.numpy() / rows))
    assert all(found)
    assert served
