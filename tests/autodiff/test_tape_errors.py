"""What a `GradientTape` refuses, and in which words."""

import numpy as np
import pytest

import gradtape as tf

SPENT = r"A non-persistent GradientTape can only be used to compute one set of gradients \(or jacobians\)"


@pytest.mark.parametrize("first", ["gradient", "jacobian"])
@pytest.mark.parametrize("second", ["gradient", "jacobian"])
def test_a_tape_is_spent_after_one_use(first, second):
    x = tf.constant(3.0)
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = x * x
    getattr(tape, first)(y, x)
    with pytest.raises(RuntimeError, match=SPENT):
        getattr(tape, second)(y, x)


def test_a_tape_that_recorded_nothing():
    x = tf.constant(3.0)
    with pytest.raises(RuntimeError, match=SPENT):
        tf.GradientTape().gradient(x, x)
    assert tf.GradientTape().watched_variables() == ()


def test_watch_before_the_context():
    with pytest.raises(AttributeError, match=r"open tape|'NoneType' object has no attribute '_tape'"):
        tf.GradientTape().watch(tf.constant(1.0))


@pytest.mark.parametrize(
    "value, named",
    [(1.0, "float"), (1, "int"), ("text", "str"), (np.ones(2), "ndarray"), (None, "NoneType"), ([2.0], "float")],
)
def test_watch_refuses_what_is_no_tensor(value, named):
    message = f"of type .*{named}.*, not tf.Tensor or tf.Variable or ExtensionType"
    with tf.GradientTape() as tape, pytest.raises(ValueError, match=message):
        tape.watch(value)


def test_entering_an_active_tape():
    message = "Tape is still recording, This can happen if you try to re-enter an already-active tape."
    with tf.GradientTape() as tape, pytest.raises(ValueError, match=message), tape:
        pass


@pytest.mark.parametrize("use", ["stop_recording", "reset"])
def test_control_of_a_tape_that_is_not_recording(use):
    x = tf.constant(3.0)
    with tf.GradientTape() as tape:
        tape.watch(x)
    with pytest.raises(ValueError, match="not recording"):
        if use == "reset":
            tape.reset()
        else:
            with tape.stop_recording():
                pass


def test_stop_recording_outside_of_the_context():
    with pytest.raises(RuntimeError, match="not recording"), tf.GradientTape().stop_recording():
        pass
    with tf.GradientTape() as tape:
        pass
    with pytest.raises(ValueError, match=r"^Tape is not recording"), tape.stop_recording():
        pass


def test_target_none():
    x = tf.constant(3.0)
    with tf.GradientTape() as tape:
        tape.watch(x)
    with pytest.raises(TypeError, match="Argument `target` should be a list or nested structure of Tensors, Variables"):
        tape.gradient(None, x)


@pytest.mark.parametrize(
    "value, error",
    [
        (3.0, AttributeError),
        (True, AttributeError),
        (np.ones(2, np.float32), AttributeError),
        (np.float32(2.0), AttributeError),
        ("loss", TypeError),
        ([tf.constant(1.0), None], TypeError),
    ],
)
def test_a_target_or_source_that_is_no_tensor(value, error):
    x = tf.constant(3.0)
    with tf.GradientTape(persistent=True) as tape:
        tape.watch(x)
        y = x * x
    says = r"The \w+ .* is no tensor or variable|No tensor of the name 'loss'|'\w+' object has no attribute|None"
    with pytest.raises(error, match=says):
        tape.gradient(value, x)
    with pytest.raises(error, match=says):
        tape.gradient(y, value)


@pytest.mark.parametrize("sources", [None, [None]])
def test_source_none(sources):
    x = tf.constant(3.0)
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = x * x
    with pytest.raises(TypeError, match="None"):
        tape.gradient(y, sources)


def test_unknown_value_for_unconnected_gradients():
    x = tf.constant(3.0)
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = x * x
    with pytest.raises(ValueError, match="Unknown value for unconnected_gradients: 'ones'"):
        tape.gradient(y, x, unconnected_gradients="ones")
