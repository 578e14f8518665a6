"""Looking at values changes nothing: gradients are the same if one was read before `gradient`, after it or never."""

import numpy as np
import pytest

import gradtape as tf
from gradtape._src.core.programs.op import ops
from tests.agreement import agree

READS = [
    pytest.param(lambda value: print(value), id="print"),
    pytest.param(repr, id="repr"),
    pytest.param(lambda value: value.numpy(), id="numpy"),
    pytest.param(np.asarray, id="asarray"),
    pytest.param(lambda value: float(tf.reduce_sum(value)), id="float"),
    pytest.param(lambda value: bool(tf.reduce_all(value < 100.0)), id="bool"),
    pytest.param(lambda value: [list(row) for row in tf.reshape(value, [1, -1])], id="iterate"),
    pytest.param(lambda value: None, id="never"),
]


def network(read_inside):
    """Two layers; `read_inside(value)` is called on each intermediate value as it is made."""
    x = tf.constant([[1.0, -2.0], [0.5, 0.25]])
    w1 = tf.Variable([[0.5, -0.25, 1.0], [0.75, 0.5, -1.0]])
    w2 = tf.Variable([[1.0], [-0.5], [0.25]])
    with tf.GradientTape(persistent=True) as tape:
        tape.watch(x)
        hidden = x @ w1
        read_inside(hidden)
        active = tf.tanh(hidden)
        read_inside(active)
        out = active @ w2
        read_inside(out)
        loss = tf.reduce_mean(out**2)
        read_inside(loss)
    return tape, loss, [x, w1, w2, hidden, active]


def expected_gradients():
    """The gradients of `network`, in float64 by hand."""
    x = np.array([[1.0, -2.0], [0.5, 0.25]])
    w1 = np.array([[0.5, -0.25, 1.0], [0.75, 0.5, -1.0]])
    w2 = np.array([[1.0], [-0.5], [0.25]])
    active = np.tanh(x @ w1)
    d_out = active @ w2  # the mean of two squares
    d_active = d_out @ w2.T
    d_hidden = d_active * (1 - active**2)
    return [d_hidden @ w1.T, x.T @ d_hidden, active.T @ d_out, d_hidden, d_active]


@pytest.mark.parametrize("read", READS)
def test_read_inside_the_tape(read):
    tape, loss, sources = network(read)
    agree(tape.gradient(loss, sources), expected_gradients())


@pytest.mark.parametrize("read", READS)
def test_read_after_the_tape_and_before_the_gradient(read):
    tape, loss, sources = network(lambda value: None)
    read(loss)
    read(sources[3])
    agree(tape.gradient(loss, sources), expected_gradients())


@pytest.mark.parametrize("read", READS)
def test_read_after_the_gradient(read):
    tape, loss, sources = network(lambda value: None)
    gradients = tape.gradient(loss, sources)
    read(loss)
    read(gradients[0])
    agree(gradients, expected_gradients())
    agree(tape.gradient(loss, sources), expected_gradients())


@pytest.mark.parametrize("read", READS)
def test_read_between_two_gradients(read):
    tape, loss, sources = network(lambda value: None)
    first = tape.gradient(loss, sources[:2])
    read(first[1])
    second = tape.gradient(loss, sources[2:])
    agree([*first, *second], expected_gradients())


@pytest.mark.parametrize("read", READS)
def test_read_in_some_rounds_of_a_loop(read):
    v = tf.Variable(1.0)
    gradients = []
    for step in range(6):
        with tf.GradientTape() as tape:
            y = v * v
            if step % 2:
                read(y)
            z = y * v
        if step % 3 == 0:
            read(z)
        gradients.append(tape.gradient(z, v))
        v.assign_add(1.0)
    agree(gradients, [3.0 * (step + 1) ** 2 for step in range(6)])


@pytest.mark.parametrize("read", READS)
def test_read_between_orders(read):
    x = tf.constant(2.0)
    with tf.GradientTape() as outer:
        outer.watch(x)
        with tf.GradientTape() as inner:
            inner.watch(x)
            y = x**4
            read(y)
        first = inner.gradient(y, x)
        read(first)
        z = first * y
        read(z)
    agree(outer.gradient(z, x), 7.0 * 4.0 * 2.0**6)


@pytest.mark.parametrize("read", READS)
def test_read_a_value_that_a_branch_depends_on(read):
    x = tf.constant([1.0, -3.0])
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = x * 2.0
        read(y)
        y = y * 3.0 if tf.reduce_sum(y) > 0.0 else y * 5.0
        read(y)
    agree(tape.gradient(y, x), [10.0, 10.0])


@pytest.mark.parametrize("read", READS)
def test_handles_dropped_before_the_gradient(read):
    x = tf.constant(0.5)
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = x
        for _ in range(20):
            y = tf.sin(y)
            read(y)
    expected, slope = 0.5, 1.0
    for _ in range(20):
        slope *= np.cos(expected)
        expected = np.sin(expected)
    agree(y, expected)
    agree(tape.gradient(y, x), slope)


def test_only_the_value_of_the_loss_is_ever_read():
    v = tf.Variable([1.0, 2.0])
    losses = []
    for _ in range(5):
        with tf.GradientTape() as tape:
            loss = tf.reduce_sum(v**2)
        losses.append(loss.numpy())
        v.assign_sub(0.25 * tape.gradient(loss, v))
    assert losses == [5.0, 1.25, 0.3125, 0.078125, 0.01953125]


def test_the_gradient_is_read_long_after_its_variable_changed():
    v = tf.Variable([1.0, 2.0])
    with tf.GradientTape() as tape:
        loss = tf.reduce_sum(v**3)
    gradient = tape.gradient(loss, v)
    for _ in range(3):
        v.assign(v * 10.0)
    del tape
    agree(gradient, [3.0, 12.0])
    agree(loss, 9.0)
    agree(v, [1000.0, 2000.0])


def test_a_tape_that_is_dropped_without_a_gradient():
    v = tf.Variable(3.0)
    for _ in range(3):
        with tf.GradientTape() as tape:
            y = v * v
        del tape
    agree(y, 9.0)
    with tf.GradientTape() as tape:
        y = v * v
    agree(tape.gradient(y, v), 6.0)


COMPARED = [
    "Max", "Min", "SegmentMax", "SegmentMin", "UnsortedSegmentMax", "UnsortedSegmentMin", "TensorScatterMax",
    "TensorScatterMin", "MaxPool", "MaxPool3D", "MaxPoolWithArgmax",
]  # fmt: skip


@pytest.mark.parametrize("type", COMPARED)
def test_extrema_are_compared_with_an_input_of_the_same_program(type):
    """An extremum that was read is a number of the program before, and its input is computed again: no element may equal it."""
    assert "y" not in "".join(ops[type].saves)


def test_gradients_of_an_extremum_that_is_read_in_each_step():
    """A solver with an adaptive step asks for the largest error: of 70 gradients two were NaN when compiled."""
    draws = np.random.RandomState(0)
    a, b, c = [tf.Variable(draws.randn(*s).astype("f4") * 0.5) for s in ((4, 16), (16, 4), (4,))]
    x = tf.constant(draws.randn(16, 4).astype("f4"))

    def slope(t, z):
        return tf.nn.leaky_relu(z @ a + t) @ b + c

    for step in range(70):
        with tf.GradientTape() as tape:
            h = tf.constant(0.05 + step % 7 * 0.01)
            tape.watch(h)
            y, t = x, 0.0
            for _ in range(6):
                k1 = slope(t, y)
                k2 = slope(t + h / 2, y + h / 2 * k1)
                k3 = slope(t + 0.75 * h, y + 0.75 * h * k2)
                y, t = y + h * (2 / 9 * k1 + 1 / 3 * k2 + 4 / 9 * k3), t + h
                error = tf.reduce_max(tf.abs(h * (-5 / 72 * k1 + 1 / 12 * k2 + 1 / 9 * k3 - 1 / 8 * slope(t, y))))
                h = h * (0.5 + 1e-3 / (float(error) * 0.0 + error + 1e-3))
            loss = tf.reduce_sum(y) + error
        assert np.isfinite(tape.gradient(loss, c)).all()
