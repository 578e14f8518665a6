"""`jacobian` and `batch_jacobian`."""

import numpy as np
import pytest

import gradtape as tf
from tests.agreement import agree


def recorded(function, *values, persistent=True):
    """A tape over `function` at `values`, its result and its arguments."""
    arguments = [tf.constant(value) for value in values]
    with tf.GradientTape(persistent=persistent) as tape:
        tape.watch(arguments)
        target = function(*arguments)
    return tape, target, arguments


MATRIX = [[1.0, 2.0], [3.0, 4.0]]


@pytest.mark.parametrize("vectorised", [True, False])
@pytest.mark.parametrize(
    "function, x, jacobian",
    [
        (lambda x: x**2, 3.0, 6.0),
        (lambda x: x**2, [1.0, 2.0], [[2.0, 0.0], [0.0, 4.0]]),
        (tf.reduce_sum, [1.0, 2.0], [1.0, 1.0]),
        (lambda x: x * [1.0, 10.0], 2.0, [1.0, 10.0]),
        (lambda x: tf.stack([x[0] * x[1], x[0] ** 2, x[1]]), [2.0, 3.0], [[3.0, 2.0], [4.0, 0.0], [0.0, 1.0]]),
        (lambda x: tf.linalg.matvec(MATRIX, x), [1.0, 1.0], MATRIX),
        (tf.cumsum, [1.0, 1.0, 1.0], [[1.0, 0.0, 0.0], [1.0, 1.0, 0.0], [1.0, 1.0, 1.0]]),
        (tf.nn.softmax, [0.0, 0.0], [[0.25, -0.25], [-0.25, 0.25]]),
        (tf.transpose, [[1.0, 2.0]], [[[[1.0, 0.0]]], [[[0.0, 1.0]]]]),
        (lambda x: tf.reduce_sum(x, axis=0), MATRIX, [[[1.0, 0.0], [1.0, 0.0]], [[0.0, 1.0], [0.0, 1.0]]]),
        (lambda x: x[::-1], [1.0, 2.0], [[0.0, 1.0], [1.0, 0.0]]),
        (lambda x: x, [1.0, 2.0], [[1.0, 0.0], [0.0, 1.0]]),
        (lambda x: tf.where(x > 1.0, x**3, x), [1.0, 2.0], [[1.0, 0.0], [0.0, 12.0]]),
    ],
)
def test_jacobian(function, x, jacobian, vectorised):
    tape, target, (source,) = recorded(function, x)
    result = tape.jacobian(target, source, experimental_use_pfor=vectorised)
    assert result.shape == target.shape + source.shape
    agree(result, jacobian)


def test_jacobian_of_a_spent_tape():
    tape, target, (x,) = recorded(lambda x: x**2, [1.0, 2.0], persistent=False)
    agree(tape.jacobian(target, x), [[2.0, 0.0], [0.0, 4.0]])
    with pytest.raises(RuntimeError, match="can only be used to compute one set of gradients"):
        tape.jacobian(target, x)


def test_a_nest_of_sources():
    tape, target, (x, y) = recorded(lambda x, y: x * y, [1.0, 2.0], [3.0, 4.0])
    agree(
        tape.jacobian(target, {"x": x, "more": [y]}),
        {"x": [[3.0, 0.0], [0.0, 4.0]], "more": [[[1.0, 0.0], [0.0, 2.0]]]},
    )


def test_jacobian_to_a_variable():
    v = tf.Variable([1.0, 2.0])
    with tf.GradientTape() as tape:
        y = tf.reduce_sum(v) * v
    agree(tape.jacobian(y, v), [[4.0, 1.0], [2.0, 5.0]])


def test_jacobian_to_an_intermediate_value():
    x = tf.constant([1.0, 2.0])
    with tf.GradientTape() as tape:
        tape.watch(x)
        z = x * 2.0
        y = z**2
    agree(tape.jacobian(y, z), [[4.0, 0.0], [0.0, 8.0]])


def test_an_unconnected_source():
    tape, target, (x, y) = recorded(lambda x, y: x**2, [1.0, 2.0], [3.0, 4.0])
    assert tape.jacobian(target, y) is None
    agree(tape.jacobian(target, [x, y]), [[[2.0, 0.0], [0.0, 4.0]], None])
    zeros = tape.jacobian(target, y, unconnected_gradients=tf.UnconnectedGradients.ZERO)
    agree(zeros, [[0.0, 0.0], [0.0, 0.0]])


def test_an_integer_target():
    tape, target, (x,) = recorded(lambda x: tf.cast(x, tf.int32), [1.0, 2.0])
    assert tape.jacobian(target, x) is None


def test_the_rows_sum_to_the_gradient():
    tape, target, (x,) = recorded(lambda x: tf.tanh(x @ MATRIX), [[0.1, 0.2], [-0.3, 0.4], [0.5, 0.0]])
    jacobian = tape.jacobian(target, x)
    assert jacobian.shape == (3, 2, 3, 2)
    agree(tf.reduce_sum(jacobian, axis=[0, 1]), tape.gradient(target, x))


def test_jacobian_of_a_jacobian():
    x = tf.constant([1.0, 2.0, 3.0])
    with tf.GradientTape(persistent=True) as outer:
        outer.watch(x)
        with tf.GradientTape() as inner:
            inner.watch(x)
            y = x**3
        jacobian = inner.jacobian(y, x)
    agree(jacobian, np.diag([3.0, 12.0, 27.0]))
    second = np.zeros((3, 3, 3))
    second[range(3), range(3), range(3)] = [6.0, 12.0, 18.0]
    agree(outer.jacobian(jacobian, x), second)
    agree(outer.gradient(jacobian, x), [6.0, 12.0, 18.0])


@pytest.mark.parametrize(
    "function, x, hessian",
    [
        (lambda x: x[0] ** 2 * x[1], [2.0, 3.0], [[6.0, 4.0], [4.0, 0.0]]),
        (lambda x: tf.reduce_sum(x) ** 2, [1.0, 2.0], [[2.0, 2.0], [2.0, 2.0]]),
        (tf.reduce_prod, [1.0, 2.0, 3.0], [[0.0, 3.0, 2.0], [3.0, 0.0, 1.0], [2.0, 1.0, 0.0]]),
        (tf.reduce_logsumexp, [0.0, 0.0], [[0.25, -0.25], [-0.25, 0.25]]),
    ],
)
def test_hessian(function, x, hessian):
    x = tf.constant(x)
    with tf.GradientTape() as outer:
        outer.watch(x)
        with tf.GradientTape() as inner:
            inner.watch(x)
            y = function(x)
        gradient = inner.gradient(y, x)
    agree(outer.jacobian(gradient, x), hessian)


@pytest.mark.parametrize("vectorised", [True, False])
@pytest.mark.parametrize(
    "function, x, jacobian",
    [
        (lambda x: x**2, MATRIX, [[[2.0, 0.0], [0.0, 4.0]], [[6.0, 0.0], [0.0, 8.0]]]),
        (lambda x: x**2 @ MATRIX, MATRIX, [[[2.0, 12.0], [4.0, 16.0]], [[6.0, 24.0], [12.0, 32.0]]]),
        (lambda x: tf.reduce_sum(x**2, axis=1, keepdims=True), MATRIX, [[[2.0, 4.0]], [[6.0, 8.0]]]),
        (lambda x: x[:, :1] * x, MATRIX, [[[2.0, 0.0], [2.0, 1.0]], [[6.0, 0.0], [4.0, 3.0]]]),
    ],
)
def test_batch_jacobian(function, x, jacobian, vectorised):
    tape, target, (source,) = recorded(function, x)
    result = tape.batch_jacobian(target, source, experimental_use_pfor=vectorised)
    agree(result, jacobian)


def test_batch_jacobian_of_higher_ranks():
    tape, target, (x,) = recorded(
        lambda x: tf.einsum("bij,jk->bik", x, tf.constant(MATRIX)), np.arange(12.0, dtype=np.float32).reshape(2, 3, 2)
    )
    result = tape.batch_jacobian(target, x)
    assert result.shape == (2, 3, 2, 3, 2)
    expected = np.einsum("ia,jk->ikaj", np.eye(3), MATRIX)
    agree(result, np.stack([expected, expected]))


@pytest.mark.parametrize("unconnected", ["none", "zero"])
def test_batch_jacobian_of_an_unconnected_target_is_zero(unconnected):
    tape, target, (_, y) = recorded(lambda x, y: x * 2.0, MATRIX, [[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]])
    agree(tape.batch_jacobian(target, y, unconnected_gradients=unconnected), np.zeros((2, 2, 3)))


def test_batch_jacobian_refuses_another_number_of_rows():
    tape, target, (x,) = recorded(lambda x: tf.concat([x, x], axis=0), MATRIX)
    message = "Need first dimension of target shape .* and source shape .* to match"
    with pytest.raises(ValueError, match=message):
        tape.batch_jacobian(target, x)


def in_a_session(f, x):
    """What a function gives in a graph, in a session."""
    with tf.Graph().as_default(), tf.compat.v1.Session() as session:
        result = session.run(f(tf.constant(x)))
    return tf.constant(result)


WAYS = {
    "function": lambda f, x: tf.function(f)(tf.constant(x)),
    "branch": lambda f, x: tf.function(lambda x: tf.cond(x[0, 0] > 0.0, lambda: f(x), lambda: f(-x)))(tf.constant(x)),
    "function that runs as eager code": lambda f, x: tf.function(lambda x: f(tf.boolean_mask(x, x[:, 0] > 0.0)))(tf.constant(x)),
    "graph": in_a_session,
}


@pytest.mark.parametrize("way", WAYS.values(), ids=WAYS)
@pytest.mark.parametrize("method", ["jacobian", "batch_jacobian"])
def test_row_by_row_on_a_tape_that_is_not_persistent_in_functions_and_graphs_only(method, way):
    """As in TensorFlow, which asks for a persistent tape in eager code alone."""

    def f(x):
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = tf.exp(x)
        result = getattr(tape, method)(y, x, experimental_use_pfor=False)
        return result if method == "batch_jacobian" else tf.einsum("bibj->bij", result)

    agree(way(f, MATRIX), [np.diag(np.exp(row)) for row in MATRIX])
    with pytest.raises(RuntimeError, match=f"eager code .* persistent=True to compute the {method} with experimental_use_pfor"):
        f(tf.constant(MATRIX))
