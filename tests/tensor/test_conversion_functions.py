"""`register_tensor_conversion_function`: the values and errors are TensorFlow 2.21's."""

import numpy as np
import pytest

import gradtape as tf
from gradtape._src.core.tensors import conversions


class Held:
    def __init__(self, value):
        self.value = value


class Derived(Held):
    pass


class Other:
    pass


def convert(value, dtype=None, name=None, as_ref=False):
    return tf.constant(value.value, dtype)


@pytest.fixture(autouse=True)
def registry(monkeypatch):
    monkeypatch.setattr(conversions, "registered", [])
    monkeypatch.setattr(conversions, "_by_type", {})


def register(kind, function, **settings):
    tf.register_tensor_conversion_function(kind, function, **settings)


@pytest.mark.parametrize("operation", [tf.add, lambda x, y: y + x, lambda x, y: x + y])
def test_operands_are_converted(operation):
    register(Held, convert)
    np.testing.assert_array_equal(operation(Derived([1.0, 2.0]), tf.constant([3.0, 4.0])), [4.0, 6.0])
    traced = tf.function(lambda x: operation(Derived([1.0, 2.0]), x))
    np.testing.assert_array_equal(traced(tf.constant([3.0, 4.0])), [4.0, 6.0])


def test_an_explicit_call_states_the_dtype():
    register(Held, convert)
    assert tf.convert_to_tensor(Held(2.0), tf.float64).dtype == tf.float64
    assert tf.convert_to_tensor(Held(1), dtype_hint=tf.float32).dtype == tf.float32
    assert tf.convert_to_tensor(Held(2.0), dtype_hint=tf.int32).dtype == tf.float32
    assert not tf.is_tensor(Held(1.0))
    with pytest.raises(ValueError, match=r"Attempt to convert a value \(.*Held object.* with an unsupported type"):
        tf.constant(Held(1.0))


def test_the_tape_goes_through():
    register(Held, lambda value, dtype=None, name=None, as_ref=False: tf.identity(value.value))
    v = tf.Variable(3.0)
    with tf.GradientTape() as tape:
        y = tf.square(Held(v))
    assert tape.gradient(y, v).numpy() == 6.0


def test_the_lower_priority_is_asked_first_and_then_the_earlier_one():
    for value, priority in ((1.0, 100), (2.0, 100), (3.0, 50)):
        register(Other, lambda v, dtype=None, name=None, as_ref=False, value=value: tf.constant(value), priority=priority)
        assert tf.convert_to_tensor(Other()).numpy() == (3.0 if priority == 50 else 1.0)
    register(object, lambda v, dtype=None, name=None, as_ref=False: NotImplemented, priority=1)
    assert tf.convert_to_tensor(Other()).numpy() == 3.0
    assert tf.convert_to_tensor([4.0]).numpy() == [4.0]


@pytest.mark.parametrize(
    "result, kind, message",
    [
        (lambda: NotImplemented, ValueError, r"Attempt to convert a value \(.*Other object.*\) with an unsupported type"),
        (lambda: tf.constant(1.0), RuntimeError, "returned incompatible dtype: requested = int32, actual = float32"),
        (lambda: np.ones(3), RuntimeError, r"returned non-Tensor: array\(\[1\., 1\., 1\.\]\)"),
    ],
)
def test_what_it_may_not_return(result, kind, message):
    register(Other, lambda value, dtype=None, name=None, as_ref=False: result())
    with pytest.raises(kind, match=message):
        tf.convert_to_tensor(Other(), tf.int32)


@pytest.mark.parametrize(
    "kind, function, message",
    [
        (int, convert, "Cannot register conversions for Python numeric types and NumPy scalars and arrays"),
        (np.ndarray, convert, "Cannot register conversions for Python numeric types"),
        (3, convert, "`base_type` must be a type or a tuple of types. Obtained: 3"),
        (Held, 3, "`conversion_func` must be callable. Received 3"),
    ],
)
def test_what_cannot_be_registered(kind, function, message):
    with pytest.raises(TypeError, match=message):
        register(kind, function)
