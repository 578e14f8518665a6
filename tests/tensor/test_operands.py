"""What each kind of value becomes as an operand. What is expected is TensorFlow 2.21's."""

import jax
import numpy as np
import pytest

import gradtape as tf


class Own:
    """An object that converts itself."""

    def __tf_tensor__(self, dtype=None, name=None):
        return tf.constant([1.0, 2.0], dtype or tf.float32)


# The dtype, or the error, by itself, times float32, added to int32, before float32, and by itself in a function.
VALUES = {
    "tensor": (lambda: tf.constant([1.0, 2.0]), "float32 float32 Invalid float32 float32"),
    "tensor of float64": (
        lambda: tf.constant([1.0, 2.0], tf.float64),
        "float64 Invalid Invalid Invalid float64",
    ),
    "variable": (lambda: tf.Variable([1.0, 2.0]), "float32 float32 Invalid float32 float32"),
    "variable of int32": (lambda: tf.Variable([1, 2]), "int32 Invalid int32 Invalid int32"),
    "float": (lambda: 1.5, "float32 float32 Invalid float32 float32"),
    "int": (lambda: 2, "int32 float32 int32 Invalid int32"),
    "bool": (lambda: True, "bool float32 int32 Invalid bool"),
    "complex": (lambda: 1j, "complex128 TypeError Invalid Invalid complex128"),
    "int of 70 bits": (lambda: 2**70, "ValueError float32 ValueError ValueError TypeError"),
    "array of float64": (lambda: np.array([1.0, 2.0]), "float64 float32 int32 Invalid float64"),
    "array of int64": (lambda: np.array([1, 2]), "int64 float32 int32 Invalid int64"),
    "scalar of NumPy": (lambda: np.float64(2.0), "float64 float32 int32 Invalid float64"),
    "list of ints": (lambda: [1, 2], "int32 float32 int32 Invalid int32"),
    "list of floats": (lambda: [1.0, 2.0], "float32 float32 Invalid float32 float32"),
    "list with a float": (lambda: [1, 2.5], "float32 float32 Invalid float32 float32"),
    "list with a tensor": (lambda: [tf.constant(1.0), 2.0], "float32 float32 Invalid float32 float32"),
    "list of lists of different lengths": (lambda: [[1.0], [1.0, 2.0]], "ValueError ValueError ValueError ValueError ValueError"),
    "empty list": (list, "float32 Invalid Invalid Invalid float32"),
    "IndexedSlices": (
        lambda: tf.IndexedSlices(tf.constant([1.0]), tf.constant([1]), tf.constant([2])),
        "float32 float32 Invalid float32 float32",
    ),
    "string": (lambda: "a", "string TypeError Invalid Invalid string"),
    "list of strings": (lambda: ["a", "b"], "string TypeError Invalid Invalid string"),
    "None": (lambda: None, "ValueError ValueError ValueError ValueError ValueError"),
    "list with None": (lambda: [None, 1.0], "ValueError ValueError ValueError ValueError TypeError"),
    "object": (object, "ValueError ValueError ValueError ValueError TypeError"),
    "object that converts itself": (Own, "float32 float32 Invalid float32 float32"),
    "shape": (lambda: tf.TensorShape([1, 2]), "int32 TypeError int32 Invalid int32"),
    "open shape": (lambda: tf.TensorShape([None, 2]), "ValueError ValueError ValueError ValueError ValueError"),
    "dict": (dict, "ValueError ValueError ValueError ValueError TypeError"),
}


@pytest.mark.parametrize("kind", VALUES)
def test_a_value_becomes_what_it_does_in_tensorflow(kind):
    make, expected = VALUES[kind]
    floats, ints, made = tf.constant([1.0, 2.0]), tf.constant([1, 2]), make()
    calls = [
        lambda: tf.convert_to_tensor(make()),
        lambda: tf.multiply(floats, make()),
        lambda: tf.add(ints, make()),
        lambda: tf.add(make(), floats),
        tf.function(lambda: tf.convert_to_tensor(made)),
    ]
    found = []
    for call in calls:
        try:
            found.append(call().dtype.name)
        except Exception as error:
            found.append(type(error).__name__.removesuffix("ArgumentError"))
    assert " ".join(found) == expected


def test_an_array_of_jax_is_taken_without_a_copy():
    array = jax.numpy.arange(2, dtype=np.float32)
    made = tf.convert_to_tensor(array)
    assert made.dtype == tf.float32 and jax.numpy.asarray(made) is array
    assert tf.add(tf.constant([1, 2]), array).dtype == tf.int32


def test_a_symbolic_tensor_stays_itself():
    with tf.Graph().as_default():
        x = tf.compat.v1.placeholder(tf.float32, [2])
        assert tf.convert_to_tensor(x) is x
        assert tf.add(x, 1.0).dtype == tf.float32


def test_a_value_is_converted_once():
    """An op that prefers a dtype, or a product of batches, does not convert a value a second time."""
    asked = []

    class Counted(Own):
        def __tf_tensor__(self, dtype=None, name=None):
            asked.append(dtype)
            return tf.ones([1, 2, 2], dtype or tf.float32)

    tf.matmul(Counted(), Counted())
    assert asked == [None, tf.float32]
    tf.math.nextafter(Counted(), 1.0)
    assert asked[2:] == [tf.float32]
