"""Branches and loops run on the host before they are compiled: the same results, and none of them goes on there for long."""

import numpy as np
import pytest

import gradtape as tf
from gradtape._src.control import bounded_scan, checkpointed_while
from tests.agreement import agree
from tests.engine.test_structured import SAMPLES, X, smooth


def newton(x):
    return tf.while_loop(lambda y, e: e > 1e-3, lambda y, e: (0.5 * (y + x / y), tf.abs(y * y - x)), (x * 1.0, x + 1.0))[0]


def running_maximum(x):
    start = (0, tf.reduce_min(x), tf.TensorArray(tf.float32, 4))
    body = lambda i, m, a: (i + 1, tf.maximum(m, x[i]), a.write(i, tf.maximum(m, x[i])))  # noqa: E731
    return tf.reduce_sum(tf.while_loop(lambda i, *_: i < 4, body, start)[2].stack() ** 2)


def recurrent(x):
    kernel = tf.reshape(x[:4], [2, 2])
    step = lambda h, row: tf.tanh(tf.linalg.matvec(kernel, h) + row)  # noqa: E731
    return tf.reduce_sum(tf.scan(step, tf.reshape(x, [-1, 2]), tf.zeros([2])))


def chosen(x):
    return tf.switch_case(tf.cast(x[0] > 1.0, tf.int32) + 1, [lambda: x[0], lambda: x[1] ** 3, lambda: tf.sin(x[2])])


def nested(x):
    def outer(i, y):
        y = tf.cond(i % 2 == 0, lambda: y * x[1], lambda: y + tf.exp(x[0]))
        return i + 1, tf.while_loop(lambda j, z: j < i, lambda j, z: (j + 1, z * 0.5 + x[2]), (0, y))[1]

    return tf.while_loop(lambda i, y: i < 5, outer, (0, x[0]))[1]


PROGRAMS = {"newton": (newton, 2.0)} | {
    made.__name__: (made, np.array([0.9, 0.3, 1.2, 0.4, 0.8, 1.1], np.float32))
    for made in (running_maximum, recurrent, chosen, nested)
}


def derivatives(function, x):
    """The value of a new function, its gradient, and for some that of the gradient's squares."""
    second = function in (recurrent, chosen)
    made = tf.function(function)
    source = tf.Variable(x)
    with tf.GradientTape() as outer:
        with tf.GradientTape() as tape:
            value = made(source * 1.0)
        first = tape.gradient(value, source)
        squares = tf.reduce_sum(first * first)
    return [value, first, *([outer.gradient(squares, source)] if second else [])]


@pytest.fixture
def fresh():
    tf.config.clear_cache()
    yield
    tf.config.compile_early(False)


@pytest.mark.parametrize("name", PROGRAMS)
def test_the_host_gives_what_compiled_code_gives(name, fresh):
    function, x = PROGRAMS[name]
    on_host = [np.asarray(d) for d in derivatives(function, x)]
    assert tf.config.cache_info()["programs"] == 0
    tf.config.clear_cache()
    tf.config.compile_early()
    compiled = derivatives(function, x)
    agree(compiled, on_host, rtol=2e-5)
    assert tf.config.cache_info()["programs"] > 0
    assert [d.dtype for d in on_host] == [np.asarray(d).dtype for d in compiled]


@pytest.mark.parametrize("type", sorted(SAMPLES))
def test_an_op_that_holds_programs_runs_without_the_compiler(type, fresh):
    function = tf.function(lambda x: SAMPLES[type](smooth)(x))
    value = np.asarray(function(tf.constant(X)))
    factorised = type in ("ImplicitSolution", "LinearSolve")  # by LAPACK's LU, which JAX has and NumPy has not
    assert (tf.config.cache_info()["programs"], tf.config.cache_info()["kernels"]) == (0, int(factorised))
    tf.config.clear_cache()
    tf.config.compile_early()
    agree(function(tf.constant(X)), value)


def test_a_loop_that_goes_on_goes_over_to_compiled_code(fresh):
    @tf.function
    def counted(n):
        return tf.while_loop(lambda i, y: i < n, lambda i, y: (i + 1, y + tf.sin(y)), (0, 1.0))[1]

    few = float(counted(tf.constant(3)))
    before = tf.config.cache_info()
    assert (before["programs"], before["went_over"]) == (0, 0)
    many = float(counted(tf.constant(20_000)))
    after = tf.config.cache_info()
    assert (after["programs"], after["went_over"], after["node_by_node"]) == (1, 1, before["node_by_node"] + 1)
    assert many == pytest.approx(np.pi)
    assert few == pytest.approx(float(counted(tf.constant(3))))
    assert tf.config.cache_info()["programs"] == 1


def test_a_short_loop_that_is_called_often_is_compiled_once(fresh):
    @tf.function
    def counted(x):
        return tf.while_loop(lambda i, y: i < 10, lambda i, y: (i + 1, y * x), (0, x * 1.0))[1]

    programs = []
    for _ in range(200):
        counted(tf.constant(0.5))
        programs.append(tf.config.cache_info()["programs"])
    assert (programs[0], programs[-1]) == (0, 1)


def test_a_loop_whose_length_says_that_it_is_long_does_not_begin_on_the_host(fresh):
    tf.function(lambda x: tf.scan(lambda total, row: total + row, x))(tf.ones([50_000])).numpy()
    info = tf.config.cache_info()
    assert (info["programs"], info["went_over"]) == (1, 0)


@pytest.mark.parametrize("trips", [0, 4, 5, 15, 16, 17, 64, 65])
def test_checkpoints_on_the_host_move_apart_as_in_compiled_code(trips, fresh, monkeypatch):
    monkeypatch.setattr(checkpointed_while, "MOST_CHECKPOINTS", 4)
    monkeypatch.setattr(checkpointed_while, "MOST_TRIPS", 64)
    monkeypatch.setattr(checkpointed_while, "BLOCKS", 4)
    monkeypatch.setattr(bounded_scan, "BLOCKS", 4)
    monkeypatch.setattr(bounded_scan, "ROOM", 5)
    x = tf.Variable(0.9, dtype=tf.float64)
    power = tf.function(lambda x, n: tf.while_loop(lambda i, y: i < n, lambda i, y: (i + 1, y * x), (0, x))[1])
    with tf.GradientTape() as tape:
        y = power(x * 1.0, tf.constant(trips))
    gradient = float(tape.gradient(y, x))
    assert tf.config.cache_info()["programs"] == 0
    assert gradient == pytest.approx((trips + 1) * 0.9**trips if trips < 65 else np.nan, nan_ok=True)


def test_an_interrupt_of_python_reaches_the_user_from_a_loop_on_the_host(fresh, monkeypatch):
    from gradtape._src.core.engine import execution

    def interrupted(*_):
        raise KeyboardInterrupt("in the loop")

    total = tf.Variable(1.0)

    @tf.function
    def step(x):
        total.assign(tf.while_loop(lambda i, y: i < 10, lambda i, y: (i + 1, y * x), (0, x))[1])

    monkeypatch.setattr(execution.OnHost, "holds", interrupted)
    with pytest.raises(KeyboardInterrupt, match="in the loop"):
        step(tf.constant(0.5))
    assert float(total) == 1.0
