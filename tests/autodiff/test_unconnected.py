"""What a source without a path to the target gets: `None`, or zeros."""

import numpy as np
import pytest

import gradtape as tf
from tests.agreement import agree

NONE = [tf.UnconnectedGradients.NONE, "none"]
ZERO = [tf.UnconnectedGradients.ZERO, "zero"]


@pytest.fixture
def tape():
    """A persistent tape over `y = x²` and the sources `x`, `v`, `matrix`, of which only `x` is on the path."""
    x = tf.constant([1.0, 2.0])
    v = tf.Variable(3.0)
    matrix = tf.constant([[1.0, 2.0, 3.0]], tf.float64)
    with tf.GradientTape(persistent=True) as tape:
        tape.watch([x, matrix])
        y = x**2
        _ = v * 2.0
    return tape, y, {"x": x, "v": v, "matrix": matrix}


@pytest.mark.parametrize("unconnected", NONE)
def test_none(tape, unconnected):
    tape, y, sources = tape
    gradients = tape.gradient(y, sources, unconnected_gradients=unconnected)
    agree(gradients, {"x": [2.0, 4.0], "v": None, "matrix": None})


@pytest.mark.parametrize("unconnected", ZERO)
def test_zero(tape, unconnected):
    tape, y, sources = tape
    gradients = tape.gradient(y, sources, unconnected_gradients=unconnected)
    agree(gradients, {"x": [2.0, 4.0], "v": 0.0, "matrix": [[0.0, 0.0, 0.0]]})
    assert gradients["matrix"].dtype == tf.float64


def test_none_is_the_default(tape):
    tape, y, sources = tape
    assert tape.gradient(y, sources["v"]) is None


def test_the_values_of_the_enum():
    assert [member.value for member in tf.UnconnectedGradients] == ["none", "zero"]
    assert tf.UnconnectedGradients("zero") is tf.UnconnectedGradients.ZERO


@pytest.mark.parametrize(
    "source, zeros",
    [
        (lambda: tf.constant(1.0), 0.0),
        (lambda: tf.constant([1, 2]), [0, 0]),
        (lambda: tf.constant(True), False),
        (lambda: tf.constant([1.0], tf.bfloat16), [0.0]),
        (lambda: tf.constant([1.0 + 2.0j]), [0.0]),
        (lambda: tf.zeros([0, 3]), [[]] * 0),
        (lambda: tf.Variable([[1.0]], trainable=False), [[0.0]]),
    ],
)
def test_zeros_have_the_shape_and_the_dtype_of_the_source(source, zeros):
    source = source()
    x = tf.Variable(1.0)
    with tf.GradientTape() as tape:
        y = x * 2.0
    gradient = tape.gradient(y, source, unconnected_gradients="zero")
    assert gradient.dtype == source.dtype
    assert gradient.shape == source.shape
    if zeros:
        agree(tf.cast(gradient, tf.complex64), zeros)


@pytest.mark.parametrize(
    "function",
    [
        lambda x: tf.stop_gradient(x) * 2.0,
        tf.floor,
        lambda x: tf.cast(tf.cast(x, tf.int32), tf.float32),
        lambda x: tf.constant([5.0, 6.0]),
        tf.ones_like,
        lambda x: x.numpy() * 2.0 + tf.zeros([2]),
        lambda x: tf.Variable(x) * 2.0,
    ],
)
def test_every_kind_of_cut(function):
    x = tf.constant([1.5, 2.5])
    with tf.GradientTape(persistent=True) as tape:
        tape.watch(x)
        y = function(x)
    assert tape.gradient(y, x) is None
    agree(tape.gradient(y, x, unconnected_gradients="zero"), [0.0, 0.0])


def test_zero_for_a_source_of_a_later_tape():
    x = tf.constant(2.0)
    with tf.GradientTape() as first:
        first.watch(x)
        y = x * x
    with tf.GradientTape() as second:
        second.watch(x)
        z = y * 3.0
    agree(second.gradient(z, x, unconnected_gradients="zero"), 0.0)
    agree(first.gradient(y, x), 4.0)


@pytest.mark.parametrize("unconnected, second", [("none", None), ("zero", 0.0)])
def test_a_second_derivative_that_is_absent(unconnected, second):
    x = tf.constant(2.0)
    with tf.GradientTape() as outer:
        outer.watch(x)
        with tf.GradientTape() as inner:
            inner.watch(x)
            y = 3.0 * x
        dy_dx = inner.gradient(y, x)
    agree(dy_dx, 3.0)
    agree(outer.gradient(dy_dx, x, unconnected_gradients=unconnected), second)


def test_a_zero_that_is_connected_is_no_none():
    x = tf.constant(2.0)
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = x * 0.0
    agree(tape.gradient(y, x), 0.0)


def test_no_target(tape):
    tape, _, sources = tape
    assert tape.gradient([], sources["x"]) is None
    agree(tape.gradient([], sources["x"], unconnected_gradients="zero"), [0.0, 0.0])


@pytest.mark.parametrize("unconnected", ["ones", "NONE", 0])
def test_unknown_values(tape, unconnected):
    tape, y, sources = tape
    with pytest.raises(ValueError, match="Unknown value for unconnected_gradients"):
        tape.gradient(y, sources["x"], unconnected_gradients=unconnected)
    with tf.Graph().as_default(), pytest.raises(ValueError, match="Unknown value for unconnected_gradients"):
        tf.gradients(tf.constant(1.0), [tf.constant(2.0)], unconnected_gradients=unconnected)


def test_a_tensor_of_integers_has_the_gradient_one_to_itself_and_to_no_other():
    i, flag, x = tf.constant([3, 4]), tf.constant(True), tf.constant(2.0)
    with tf.GradientTape(persistent=True) as tape:
        for watched in (i, flag, x):
            tape.watch(watched)
        twice = i * 2
    own = tape.gradient(i, i)
    assert own.dtype == tf.int32 and own.numpy().tolist() == [1, 1]
    assert tape.gradient(flag, flag).numpy() == np.True_
    assert tape.gradient(i, i, output_gradients=tf.constant([5, 6])).numpy().tolist() == [5, 6]
    assert [d.numpy().tolist() for d in tape.gradient([i, x], [i, x])] == [[1, 1], 1.0]
    assert tape.gradient(twice, i) is None
    text = tf.constant("a")
    assert tape.gradient(text, text) is None


def test_a_tape_shows_what_is_public():
    with tf.GradientTape() as tape:
        inside = repr(tape)
    names = [name for name in dir(tape) if not name.startswith("__")]
    assert {"gradient", "jacobian", "watch", "reset", "summary"} < set(names)
    assert not any(name.startswith("_") or name in ("go_on", "moved", "residual_indices") for name in names)
    assert inside == "<tf.GradientTape, for one gradient, recording>"
    assert repr(tape) == "<tf.GradientTape, for one gradient, not recording>"
