"""`jvp`, `vjp`, `linearize`, `hvp`, `gauss_newton_vp`: against JAX, closed forms, and one another."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import gradtape as tf
from gradtape import autodiff
from tests.derivatives.cases import SCALAR, VECTOR, by_jax, directions, eagerly, in_a_function, same

WAYS = pytest.mark.parametrize("way", [eagerly, in_a_function], ids=["eager", "function"])


def named(cases):
    return pytest.mark.parametrize("case", cases, ids=lambda case: case.name)


def jax_jvp(f, argnums):
    return lambda *args: jax.jvp(f, args, directions(args))


def jax_vjp(f, argnums):
    """The cotangents, and what they are pulled back to."""

    def pulled(*args):
        value, pull = jax.vjp(f, *args)
        cotangents = jax.tree.map(lambda y: np.cos(np.arange(y.size)).reshape(y.shape), value)
        return cotangents, pull(cotangents)

    return pulled


@WAYS
@named([*VECTOR, *SCALAR[3:]])
def test_jvp(case, way):
    tangents = directions(case.args)
    count = len(case.args)
    mine = way(lambda *given: autodiff.jvp(case.f, given[:count], given[count:]))(*case.args, *tangents)
    same(mine, by_jax(jax_jvp, case))


@WAYS
@named([*VECTOR, *SCALAR[3:]])
def test_vjp(case, way):
    cotangents, pulled = by_jax(jax_vjp, case)
    mine = way(lambda *args: autodiff.vjp(case.f, args)[1](jax.tree.map(tf.constant, cotangents)))(*case.args)
    same(mine, pulled)


def jax_hvp(f, argnums):
    return lambda *args: jax.jvp(jax.grad(f, argnums), args, directions(args))[1]


@WAYS
@pytest.mark.parametrize("mode", ["reverse", "forward"])
@named(SCALAR)
def test_hvp(case, mode, way):
    vectors, count = directions(case.args), len(case.args)
    mine = way(lambda *given: autodiff.hvp(case.f, given[:count], given[count:], mode=mode))(*case.args, *vectors)
    same(mine, by_jax(jax_hvp, case))


def test_gauss_newton():
    x, v = tf.constant([0.3, -0.7], tf.float64), tf.constant([1.0, 2.0], tf.float64)

    def f(x):
        return {"a": tf.sin(x) * x[0], "b": tf.exp(x[1])}

    jacobian = np.concatenate([np.asarray(j).reshape(-1, 2) for j in autodiff.jacrev(f, x).values()])
    same(autodiff.gauss_newton_vp(f, x, v), jacobian.T @ jacobian @ v.numpy())
    same(autodiff.gauss_newton_vp(f, [x], [v])[0], jacobian.T @ jacobian @ v.numpy())

    def loss(y):
        return tf.reduce_sum(y["a"] ** 4) + y["b"] ** 2

    y = f(x)
    curvature = np.diag([*(12.0 * y["a"].numpy() ** 2), 2.0])
    same(autodiff.gauss_newton_vp(f, x, v, loss=loss), jacobian.T @ curvature @ jacobian @ v.numpy())


def test_variables_are_sources():
    w, b = tf.Variable([[1.0, 2.0], [3.0, 4.0]], dtype=tf.float64), tf.Variable([0.1, 0.2], dtype=tf.float64)
    x = tf.constant([0.2, -0.3], tf.float64)

    def f():
        return tf.tanh(tf.linalg.matvec(w, x) + b)

    def expected(w, b):
        return jnp.tanh(w @ x.numpy() + b)

    values, tangents = (w.numpy(), b.numpy()), (np.ones((2, 2)), np.array([1.0, -1.0]))

    @jax.jit
    def theirs(values, tangents):
        squares = jax.grad(lambda *v: jnp.sum(expected(*v) ** 2), (0, 1))
        pulled = jax.vjp(expected, *values)[1](jnp.ones(2))
        return jax.jvp(expected, values, tangents), pulled, jax.jvp(squares, values, tangents)[1]

    pushed, pulled_back, products = theirs(values, tangents)
    same(autodiff.jvp(f, (), list(tangents), sources=[w, b]), pushed)
    value, pull = autodiff.vjp(f, sources={"w": w, "b": b})
    pulled = pull(tf.ones_like(value))
    same([pulled["w"], pulled["b"]], pulled_back)
    found = autodiff.hvp(lambda: tf.reduce_sum(f() ** 2), (), list(tangents), sources=[w, b])
    same(found, products)


def test_linearize_runs_the_function_once():
    runs = []

    def f(x):
        runs.append(1)
        return x**3

    value, push = autodiff.linearize(f, tf.constant(2.0))
    assert [float(value), float(push(1.0)), float(push(tf.constant(2.0)))] == [8.0, 12.0, 24.0]
    assert len(runs) == 1


def test_an_argument_given_twice_is_two_arguments():
    x = tf.constant(3.0)
    _, tangent = autodiff.jvp(lambda a, b: a * a * b, (x, x), (1.0, 0.0))
    assert float(tangent) == 18.0
    _, pull = autodiff.vjp(lambda a, b: a * a * b, [x, x])
    assert [float(d) for d in pull()] == [18.0, 9.0]


def test_nests_integers_and_what_does_not_depend():
    arguments = {"x": tf.constant([1.0, 2.0]), "i": tf.constant([1, 0]), "unused": tf.constant(1.0)}
    tangents = {"x": tf.constant([1.0, 0.0]), "i": None, "unused": tf.constant(5.0)}

    def f(a):
        return tf.gather(a["x"], a["i"]) ** 2, a["i"], tf.constant(1.0)

    value, tangent = autodiff.jvp(f, (arguments,), (tangents,))
    assert tangent[0].numpy().tolist() == [0.0, 2.0] and tangent[1] is None and float(tangent[2]) == 0.0
    _, pull = autodiff.vjp(f, arguments)
    pulled = pull(value)
    assert pulled["i"] is None and float(pulled["unused"]) == 0.0 and pulled["x"].numpy().tolist() == [2.0, 16.0]


def test_complex_and_embedding_rows():
    z = tf.constant(1.0 + 2.0j)
    _, tangent = autodiff.jvp(lambda z: z * z, z, tf.constant(1.0j))
    assert tangent.numpy() == 2 * (1 + 2j) * 1j
    _, pull = autodiff.vjp(lambda z: z * z, z)
    assert pull(tf.constant(1.0 + 0j)).numpy() == np.conj(2 * (1 + 2j))
    table = tf.Variable([[1.0, 2.0], [3.0, 4.0]])
    found = autodiff.hvp(lambda: tf.reduce_sum(tf.gather(table, [1, 1]) ** 3), (), tf.ones([2, 2]), sources=table)
    assert found.numpy().tolist() == [[0.0, 0.0], [36.0, 48.0]]


def test_derivatives_of_derivatives():
    x = tf.constant(2.0)

    def slope(x):
        return autodiff.jvp(lambda y: y**4, x, tf.ones_like(x))[1]

    assert float(slope(x)) == 32.0
    assert float(autodiff.jvp(slope, x, 1.0)[1]) == 48.0
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = autodiff.hvp(lambda y: y**4, x, tf.constant(1.0))
    assert float(tape.gradient(y, x)) == 48.0


@pytest.mark.parametrize(
    "call, error, message",
    [
        (lambda x: autodiff.jvp(3, x, x), TypeError, "first argument must be a function, received 3"),
        (lambda x: autodiff.jvp(tf.sin, x, tf.ones([3])), ValueError, r"leaf 0 has shape \(3,\).*has shape \(2,\)"),
        (lambda x: autodiff.jvp(tf.add, (x, x), (x,)), ValueError, "tangents must have the structure"),
        (lambda x: autodiff.hvp(tf.sin, x, x), ValueError, r"hvp needs a function that returns one scalar; it returned \(2,\)"),
        (lambda x: autodiff.hvp(tf.sin, x, x, mode="up"), ValueError, "mode must be 'reverse' or 'forward', received 'up'"),
        (lambda x: autodiff.vjp(lambda: x), ValueError, "nothing to differentiate with respect to"),
        (
            lambda x: autodiff.vjp(tf.identity, tf.constant(1)),
            ValueError,
            "floating or complex tensor or variable: received int32",
        ),
        (lambda x: autodiff.vjp(lambda: x, sources=[x, x]), ValueError, "A source was given twice"),
        (lambda x: autodiff.jvp(lambda x: None, x, x), TypeError, "The function returned None where a tensor was expected"),
        (
            lambda x: autodiff.hvp(lambda x: float(tf.reduce_sum(x)), x, x),
            TypeError,
            "returned float, no tensor, .* its derivative is not known",
        ),
        (lambda x: autodiff.vjp(lambda: x, sources=["x"]), TypeError, "sources are variables and tensors, received 'x'"),
        (
            lambda x: autodiff.jvp(tf.sin, x, tf.ones([2], tf.float64)),
            ValueError,
            "requested dtype float32 for Tensor with dtype",
        ),
    ],
)
def test_bad_calls(call, error, message):
    with pytest.raises(error, match=message):
        call(tf.constant([1.0, 2.0]))
