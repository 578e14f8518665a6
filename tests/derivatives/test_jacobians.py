"""`jacfwd`, `jacrev`, `hessian`, and `tape.jacobian` by columns, in chunks, within the memory there is."""

import jax
import numpy as np
import pytest

import gradtape as tf
from gradtape import autodiff
from gradtape._src.core.platform import memory
from tests.derivatives.cases import SCALAR, VECTOR, by_jax, eagerly, in_a_function, same

WAYS = pytest.mark.parametrize("way", [eagerly, in_a_function], ids=["eager", "function"])


def named(cases):
    return pytest.mark.parametrize("case", cases, ids=lambda case: case.name)


@WAYS
@pytest.mark.parametrize("mode", [autodiff.jacrev, autodiff.jacfwd])
@named(VECTOR)
def test_jacobian(case, mode, way):
    same(way(lambda *args: mode(case.f, args))(*case.args), by_jax(jax.jacrev, case))


@WAYS
@named(SCALAR)
def test_hessian(case, way):
    same(way(lambda *args: autodiff.hessian(case.f, args))(*case.args), by_jax(jax.hessian, case))


def test_hessian_of_variables():
    a, b = tf.Variable([1.0, 2.0]), tf.Variable(3.0)
    blocks = autodiff.hessian(lambda: tf.reduce_sum(a**2) * b, sources={"a": a, "b": b})
    assert blocks["a"]["a"].numpy().tolist() == [[6.0, 0.0], [0.0, 6.0]]
    assert blocks["a"]["b"].numpy().tolist() == blocks["b"]["a"].numpy().tolist() == [2.0, 4.0]
    assert float(blocks["b"]["b"]) == 0.0


def test_nests_and_integers():
    found = autodiff.jacrev(lambda a: [a["x"] * 2.0, a["i"]], {"x": tf.constant([1.0, 2.0]), "i": tf.constant(3)})
    assert found[0]["x"].numpy().tolist() == [[2.0, 0.0], [0.0, 2.0]]
    assert found[0]["i"] is None and found[1] == {"x": None, "i": None}


@pytest.mark.parametrize("mode", ["reverse", "forward"])
@pytest.mark.parametrize("chunk_size", [1, 3, 4, 100])
def test_chunks(chunk_size, mode):
    x, m = tf.constant(np.linspace(-1.0, 1.0, 7)), tf.constant(np.random.default_rng(0).normal(size=(5, 7)))
    with tf.GradientTape(persistent=True) as outer:
        outer.watch(x)
        with tf.GradientTape(persistent=True) as tape:
            tape.watch(x)
            y = tf.tanh(tf.linalg.matvec(m, x))
        jacobian = tape.jacobian(y, x, chunk_size=chunk_size, mode=mode)
        total = tf.reduce_sum(jacobian**2)
    slope = (1.0 - np.tanh(m.numpy() @ x.numpy()) ** 2)[:, None] * m.numpy()
    same(jacobian, slope)
    with tf.GradientTape() as plain:  # the second order goes through the chunks
        plain.watch(x)
        z = tf.tanh(tf.linalg.matvec(m, x))
        expected = tf.reduce_sum(((1.0 - z**2)[:, None] * m) ** 2)
    same(outer.gradient(total, x), plain.gradient(expected, x).numpy())


def test_batch_jacobian_in_chunks():
    x = tf.constant(np.random.default_rng(1).normal(size=(3, 4)))
    with tf.GradientTape(persistent=True) as tape:
        tape.watch(x)
        y = tf.sin(x) * tf.reduce_sum(x, axis=1, keepdims=True)
    whole = tape.batch_jacobian(y, x)
    same(tape.batch_jacobian(y, x, chunk_size=3), whole.numpy())
    same(whole, np.stack([tape.jacobian(y, x)[i, :, i].numpy() for i in range(3)]))


def test_several_targets():
    x = tf.Variable([1.0, 2.0])
    with tf.GradientTape() as tape:
        y = {"square": x * x, "sum": [tf.reduce_sum(x)]}
    found = tape.jacobian(y, x)
    assert found["square"].numpy().tolist() == [[2.0, 0.0], [0.0, 4.0]] and found["sum"][0].numpy().tolist() == [1.0, 1.0]


def test_columns_are_taken_where_they_are_fewer():
    x = tf.constant(2.0)
    with tf.GradientTape(persistent=True) as tape:
        tape.watch(x)
        y = tf.sin(x * tf.range(1000.0))
    found = tape.jacobian(y, x)
    same(found, np.arange(1000) * np.cos(2.0 * np.arange(1000.0)), 1e-3, 1e-3)
    assert found.node.op.type == "Transpose" and found.shape == (1000,)


def test_complex_numbers():
    z = tf.constant([1 + 2j, 3 - 1j])
    rows = autodiff.jacrev(lambda z: tf.concat([z * z, z[:1] * z[1:]], 0), z)
    same(rows, np.conj([[2 + 4j, 0], [0, 6 - 2j], [3 - 1j, 1 + 2j]]))
    same(autodiff.jacfwd(lambda z: tf.concat([z * z, z[:1] * z[1:]], 0), z), rows.numpy())
    with tf.GradientTape(persistent=True) as tape:
        one = z[0]
        tape.watch(one)
        y = tf.stack([one * tf.math.conj(one), one, one * one])
    same(tape.jacobian(y, one), tape.jacobian(y, one, mode="reverse").numpy())


@tf.custom_gradient
def clipped(x):
    return tf.identity(x), lambda dy: tf.clip_by_value(dy, -0.5, 0.5)


def test_a_gradient_that_is_not_linear_is_taken_by_rows():
    @tf.function
    def rows(x):
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = clipped(x * tf.ones([3]))
        return tape.jacobian(y, x)

    assert rows(tf.constant(2.0)).numpy().tolist() == [0.5, 0.5, 0.5]
    with tf.GradientTape() as tape:
        x = tf.constant(2.0)
        tape.watch(x)
        y = clipped(x * tf.ones([3]))
    assert tape.jacobian(y, x).numpy().tolist() == [0.5, 0.5, 0.5]


def test_a_jacobian_that_does_not_fit_is_refused_with_a_chunk_size_that_does(monkeypatch):
    x = tf.constant(np.linspace(0.0, 1.0, 64))

    def f(x):
        return tf.reduce_sum(tf.sin(x[:, None] * tf.range(200, dtype=tf.float64)), axis=1)

    expected = autodiff.jacrev(f, x)
    monkeypatch.setattr(memory, "available", lambda: 2**21)
    with pytest.raises(tf.errors.ResourceExhaustedError, match=r"64 rows take about 0.0\d GiB.*Give chunk_size=\d+: ") as failure:
        autodiff.jacrev(f, x)
    fits = int(str(failure.value).split("chunk_size=")[1].split(":")[0])
    assert 1 <= fits < 64
    same(autodiff.jacrev(f, x, chunk_size=fits), expected.numpy())
    monkeypatch.setattr(memory, "available", lambda: 2**15)
    with pytest.raises(tf.errors.ResourceExhaustedError, match=r"The result alone takes .* GiB: ask for products"):
        autodiff.jacrev(f, x)


@pytest.mark.parametrize(
    "keywords, message",
    [
        ({"chunk_size": 0}, "chunk_size must be a positive int, or None"),
        ({"chunk_size": 2.0}, "chunk_size must be a positive int, or None"),
        ({"mode": "sideways"}, "mode must be 'reverse', 'forward' or None, received 'sideways'"),
    ],
)
def test_bad_calls(keywords, message):
    x = tf.Variable([1.0, 2.0])
    with tf.GradientTape() as tape:
        y = x * x
    with pytest.raises(ValueError, match=message):
        tape.jacobian(y, x, **keywords)
