"""Derivatives along a direction, and Laplacians: closed forms, in functions, loops and maps, and their own derivatives."""

import numpy as np
import pytest

import gradtape as tf
from gradtape._src.autodiff.vectorized import call_vectorized
from gradtape._src.derivatives import collapsed
from tests.derivatives.cases import nth

own = tf.autodiff
X = tf.constant([0.3, 0.7, 1.1], tf.float64)
R2 = float(np.sum(X.numpy() ** 2))


def bell(x):
    return tf.exp(-0.5 * tf.reduce_sum(x**2))


def looped(x):
    i, y = tf.constant(0), tf.reduce_sum(x**2)
    while i < 3:
        y, i = tf.sin(y) + 0.1 * y, i + 1
    return y


RUNS = {"eager": lambda f: f, "function": tf.function}


@pytest.mark.parametrize("run", RUNS.values(), ids=RUNS)
def test_orders_element_by_element(run):
    found = run(lambda x: own.derivatives(tf.sin, x, 5))(X)
    s, c = np.sin(X), np.cos(X)
    for received, expected in zip(found, (s, c, -s, -c, s, c), strict=True):
        np.testing.assert_allclose(received, expected, 1e-14)


def test_a_direction_a_nest_and_order_0():
    product = [float(d) for d in own.derivatives(tf.reduce_prod, X, 3, [1.0, 0.0, 2.0])]
    np.testing.assert_allclose(product, [0.231, 0.7 * (1.1 + 0.6), 0.7 * 4.0, 0.0])
    found = own.derivatives(lambda x: {"a": x**2, "b": [tf.ones_like(x)]}, tf.constant([2.0, 3.0]), 2)
    assert [d["a"].numpy().tolist() for d in found] == [[4.0, 9.0], [4.0, 6.0], [2.0, 2.0]]
    assert [d["b"][0].numpy().tolist() for d in found] == [[1.0, 1.0], [0.0, 0.0], [0.0, 0.0]]
    assert [d.dtype.name for d in own.derivatives(tf.exp, 1.0, 0)] == ["float32"]


LAPLACIANS = {
    "bell": (bell, (R2 - 3.0) * np.exp(-R2 / 2.0)),
    "harmonic": (lambda x: 1.0 / tf.norm(x), 0.0),
    "linear": (lambda x: 3.0 * x, [0.0] * 3),
    "elements": (lambda x: x**3 + tf.reduce_sum(x) ** 2, 6.0 * X.numpy() + 6.0),
}


@pytest.mark.parametrize("run", RUNS.values(), ids=RUNS)
@pytest.mark.parametrize("name", LAPLACIANS)
def test_closed_forms(name, run):
    f, expected = LAPLACIANS[name]
    np.testing.assert_allclose(run(lambda x: own.laplacian(f, x))(X), expected, 1e-12, 1e-12)


@pytest.mark.parametrize("chunk_size", [None, 2])
def test_chunks_and_loops(chunk_size):
    expected = tf.linalg.trace(own.hessian(looped, X))
    for f in (looped, tf.function(looped)):
        np.testing.assert_allclose(own.laplacian(f, X, chunk_size), expected, 1e-12)


def mixed(x):
    """Return sums, products, joins, choices and a matrix of what is not linear, and a linear term."""
    a = tf.linalg.matvec(tf.constant([[1.0, 2.0, 0.5], [0.3, -1.0, 1.0]], x.dtype), tf.sin(x) * x)
    joined = tf.concat([a, x[:1] ** 2, tf.zeros([1], x.dtype)], 0)
    chosen = tf.where(joined > 0.5, joined, tf.exp(joined) - a[0] / (1.0 + x[1] ** 2))
    return tf.reduce_sum(tf.stack([chosen, 2.0 - chosen * joined])) + tf.reduce_mean(tf.transpose(tf.tensordot(a, x, 0))) + x[0]


@pytest.mark.parametrize("modes", ["", "r", "f"])
def test_a_sum_that_linear_ops_carry_on_is_that_of_all_rows(modes):
    expected = nth(lambda x: own.laplacian(mixed, x, 1), X, modes)
    np.testing.assert_allclose(nth(lambda x: own.laplacian(mixed, x), X, modes), expected, 1e-11)


def test_products_of_matrices_take_the_sum_and_not_each_row(monkeypatch):
    w, rows = tf.ones([3, 3], tf.float64) / 3.0, []
    monkeypatch.setattr(collapsed, "call_vectorized", lambda *given: rows.append(given[0]) or call_vectorized(*given))
    own.laplacian(lambda x: tf.reduce_sum(w @ tf.tanh(w @ tf.tanh(w @ x[:, None]))), X)
    types = [op.type for op, *_ in rows[0].keys]
    assert types.count("MatMul") == 5  # a value, and two derivatives of two products, which XLA merges
    assert "Sum" not in types
    for op, _, *factors in [rows[0].keys[r] for r in rows[0].outputs]:  # what does not move waits for the sum
        vectors = [rows[0].keys[r] for r in factors]
        assert op.type == "Mul" and {(of.type, rows[0].keys[r][0].type) for of, _, r in vectors} == {("Reshape", "MatMul")}


def test_shapes_dtypes_and_maps():
    np.testing.assert_allclose(own.laplacian(lambda s: s**4, tf.constant(2.0)), 48.0)
    assert own.laplacian(lambda x: tf.reduce_sum(x**2), tf.ones([2, 3])).numpy() == 12.0
    points = tf.stack([X, 2.0 * X])
    expected = [(r - 3.0) * np.exp(-r / 2.0) for r in (R2, 4.0 * R2)]
    np.testing.assert_allclose(tf.vectorized_map(lambda x: own.laplacian(bell, x), points), expected, 1e-12)


def test_its_derivatives():
    """Of the Laplacian of a bell (r² - 3) b: its gradient (2 - (r² - 3)) x b, and the trace of its own Hessian."""
    x = X.numpy()
    b, p = np.exp(-R2 / 2.0), R2 - 3.0
    np.testing.assert_allclose(own.jacrev(lambda x: own.laplacian(bell, x), X), (2.0 - p) * x * b, 1e-12)
    np.testing.assert_allclose(own.jacfwd(lambda x: own.laplacian(bell, x), X), (2.0 - p) * x * b, 1e-12)
    twice = own.laplacian(lambda x: own.laplacian(bell, x), X)
    np.testing.assert_allclose(twice, (R2**2 - 10.0 * R2 + 15.0) * b, 1e-11)
    w = tf.Variable(2.0, dtype=tf.float64)
    with tf.GradientTape() as tape:
        y = own.laplacian(lambda x: w**2 * tf.reduce_sum(x**3), X)
    np.testing.assert_allclose([y, tape.gradient(y, w)], [24.0 * 2.1, 24.0 * 2.1])


@pytest.mark.parametrize(
    "call, error, message",
    [
        (lambda: own.derivatives(3, X, 1), TypeError, "first argument must be a function, received 3"),
        (lambda: own.derivatives(tf.sin, X, -1), ValueError, "order must be an int of 0 or more, received -1"),
        (lambda: own.derivatives(tf.sin, X, 1.0), ValueError, "order must be an int of 0 or more, received 1.0"),
        (lambda: own.derivatives(tf.sin, X, 2, [1.0]), ValueError, r"the shape of x, \(3,\), received shape \(1,\)"),
        (lambda: own.derivatives(tf.argmax, X, 2), ValueError, "f must return floating tensors"),
        (lambda: own.laplacian(bell, tf.constant([1])), ValueError, "floating numbers, received int32"),
        (lambda: own.laplacian(bell, X, 0), ValueError, "chunk_size"),
        (lambda: own.laplacian(lambda x: (x, x), X), ValueError, "returns one tensor"),
        (lambda: own.laplacian(lambda x: x * float(x[0]), X), NotImplementedError, "looks at values"),
        (lambda: own.laplacian(lambda x: W.assign_add(1.0) * x, X), ValueError, "must be pure"),
    ],
)
def test_errors(call, error, message):
    with pytest.raises(error, match=message):
        call()


W = tf.Variable(2.0, dtype=tf.float64)
