"""Tensors and variables: how they print, which dtypes they take, what they refuse, and that nothing is clamped."""

import numpy as np
import pytest

import gradtape as tf
from tests.agreement import agree

# Printing


@pytest.mark.parametrize(
    "value, text, representation",
    [
        (
            lambda: tf.constant(2.0) * 3.0,
            "tf.Tensor(6.0, shape=(), dtype=float32)",
            "<tf.Tensor: shape=(), dtype=float32, numpy=6.0>",
        ),
        (
            lambda: tf.constant([1.0, 2.0]),
            "tf.Tensor([1. 2.], shape=(2,), dtype=float32)",
            "<tf.Tensor: shape=(2,), dtype=float32, numpy=array([1., 2.], dtype=float32)>",
        ),
        (
            lambda: tf.constant([[1, 2], [3, 4]]),
            "tf.Tensor(\n[[1 2]\n [3 4]], shape=(2, 2), dtype=int32)",
            "<tf.Tensor: shape=(2, 2), dtype=int32, numpy=\narray([[1, 2],\n       [3, 4]], dtype=int32)>",
        ),
        (
            lambda: tf.constant(True),
            "tf.Tensor(True, shape=(), dtype=bool)",
            "<tf.Tensor: shape=(), dtype=bool, numpy=True>",
        ),
        (
            lambda: tf.constant("hi"),
            "tf.Tensor(b'hi', shape=(), dtype=string)",
            "<tf.Tensor: shape=(), dtype=string, numpy=b'hi'>",
        ),
        (
            lambda: tf.zeros([0, 3], tf.float64),
            "tf.Tensor([], shape=(0, 3), dtype=float64)",
            "<tf.Tensor: shape=(0, 3), dtype=float64, numpy=array([], shape=(0, 3), dtype=float64)>",
        ),
        (
            lambda: tf.Variable(1.0, name="b"),
            "<tf.Variable 'b:0' shape=() dtype=float32, numpy=1.0>",
            "<tf.Variable 'b:0' shape=() dtype=float32, numpy=1.0>",
        ),
        (
            lambda: tf.Variable(3),
            "<tf.Variable 'Variable:0' shape=() dtype=int32, numpy=3>",
            "<tf.Variable 'Variable:0' shape=() dtype=int32, numpy=3>",
        ),
        (
            lambda: tf.Variable(np.ones((3, 2), np.float32), name="w"),
            "<tf.Variable 'w:0' shape=(3, 2) dtype=float32, numpy=\n"
            "array([[1., 1.],\n       [1., 1.],\n       [1., 1.]], dtype=float32)>",
            "<tf.Variable 'w:0' shape=(3, 2) dtype=float32, numpy=\n"
            "array([[1., 1.],\n       [1., 1.],\n       [1., 1.]], dtype=float32)>",
        ),
    ],
)
def test_printing(value, text, representation):
    made = value()
    assert str(made) == text
    assert repr(made) == representation


def test_types():
    x = tf.constant(1.0)
    v = tf.Variable(1.0)
    assert type(x).__name__ == type(x + 1.0).__name__ == type(v + 1.0).__name__ == "EagerTensor"
    assert type(v).__name__ == "ResourceVariable"
    assert isinstance(x, tf.Tensor) and isinstance(v + 1.0, tf.Tensor)
    assert isinstance(v, tf.Variable) and not isinstance(v, tf.Tensor)


# Dtypes


@pytest.mark.parametrize(
    "value, dtype",
    [
        (1, "int32"),
        (1.0, "float32"),
        (True, "bool"),
        (1j, "complex128"),
        ("text", "string"),
        ([1, 2.0], "float32"),
        (np.int64(3), "int64"),
        (np.float16(2), "float16"),
        (np.ones(2), "float64"),
        (np.ones(2, np.float32), "float32"),
        (np.arange(2), "int64"),
        (np.zeros(2, np.uint8), "uint8"),
    ],
)
def test_dtype_of_constants_and_variables(value, dtype):
    assert tf.constant(value).dtype == tf.as_dtype(dtype)
    if dtype != "string":
        assert tf.Variable(value).dtype == tf.as_dtype(dtype)
    assert tf.convert_to_tensor(value).dtype == tf.as_dtype(dtype)


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32", "float64", "int32", "int64", "complex64"])
def test_python_numbers_take_the_dtype_of_the_tensor(dtype):
    x = tf.constant([1, 2], dtype)
    for result in (x + 2, 2 + x, x * 2, 2 - x, x - 2, x**2):
        assert result.dtype == x.dtype
    agree(tf.cast(2 - x, tf.float32), [1.0, 0.0])


@pytest.mark.parametrize(
    "operate, numbers, dtype",
    [
        (lambda: tf.constant([1.0, 2.0]) * np.ones(2), [1.0, 2.0], "float32"),
        (lambda: np.ones(2) * tf.constant([1.0, 2.0]), [1.0, 2.0], "float32"),
        (lambda: tf.constant([1.0, 2.0]) * np.array([1, 2]), [1.0, 4.0], "float32"),
        (lambda: tf.constant([1.0, 2.0], tf.float64) - np.array([1, 2], np.float32), [0.0, 0.0], "float64"),
        (lambda: tf.constant([1, 2]) * np.array([1, 2]), [1, 4], "int32"),
        (lambda: tf.constant(3.0) * np.float64(2), 6.0, "float32"),
        (lambda: np.float64(2) * tf.constant(3.0), 6.0, "float32"),
        (lambda: tf.constant(3.0) * np.int64(2), 6.0, "float32"),
        (lambda: tf.Variable([1.0, 2.0]) * np.ones(2), [1.0, 2.0], "float32"),
        (lambda: np.ones((1, 2)) @ tf.Variable([[1.0], [2.0]]), [[3.0]], "float32"),
        (lambda: tf.constant([1.0, 2.0]) + [3.0, 4.0], [4.0, 6.0], "float32"),
        (lambda: [3, 4] - tf.constant([1.0, 2.0]), [2.0, 2.0], "float32"),
    ],
)
def test_an_array_beside_a_tensor_takes_its_dtype(operate, numbers, dtype):
    result = operate()
    assert result.dtype == tf.as_dtype(dtype)
    agree(result, numbers)


FLOAT32, FLOAT64, INT32 = tf.constant(1.0), tf.constant(1.0, tf.float64), tf.constant(1)


@pytest.mark.parametrize(
    "operate, expected, received",
    [
        (lambda: FLOAT32 + FLOAT64, "float", "double"),
        (lambda: FLOAT64 - FLOAT32, "double", "float"),
        (lambda: FLOAT32 * INT32, "float", "int32"),
        (lambda: INT32 * FLOAT32, "int32", "float"),
        (lambda: tf.maximum(FLOAT32, FLOAT64), "float", "double"),
        (lambda: tf.Variable(1.0) * FLOAT64, "float", "double"),
        (lambda: tf.ones([2, 2]) @ tf.ones([2, 2], tf.float64), "float", "double"),
    ],
)
def test_dtypes_of_tensors_do_not_mix(operate, expected, received):
    message = rf"cannot compute \w+ as input #1\(zero-based\) was expected to be a {expected} .* but is a {received} tensor"
    with pytest.raises(tf.errors.InvalidArgumentError, match=message):
        operate()


def test_division_of_tensors_of_two_dtypes():
    with pytest.raises(TypeError, match=r"must have the same dtype, got tf\.float32 != tf\.float64"):
        FLOAT32 / FLOAT64


@pytest.mark.parametrize(
    "operate", [lambda: 1.5 - INT32, lambda: INT32 * 1.5, lambda: 1.5 * INT32, lambda: INT32 + 1.5, lambda: INT32 - 1.5]
)
def test_a_float_beside_an_integer_tensor(operate):
    with pytest.raises((TypeError, tf.errors.InvalidArgumentError), match="int32"):
        operate()


def test_division_of_integers_gives_float64():
    result = tf.constant([1, 3]) / 2
    assert result.dtype == tf.float64
    agree(result, [0.5, 1.5])


# What a tensor is and is not


def test_hashing():
    with pytest.raises(TypeError, match=r"Tensor is unhashable. Instead, use tensor.ref\(\) as the key."):
        hash(tf.constant(1.0))
    with pytest.raises(TypeError, match=r"Variable is unhashable. Instead, use variable.ref\(\) as the key."):
        hash(tf.Variable(1.0))
    x = tf.constant(1.0)
    assert {x.ref(): "found"}[x.ref()] == "found"
    assert x.ref().deref() is x
    assert x.ref() != tf.constant(1.0).ref()


def test_equality_is_elementwise():
    agree(tf.constant([1, 2]) == tf.constant([1, 3]), [True, False])
    agree(tf.constant([1, 2]) != [1, 3], [False, True])
    agree(tf.constant(3.0) == 3.0, True)
    assert (tf.constant(3.0) == None) is False  # noqa: E711
    assert (tf.constant(3.0) != None) is True  # noqa: E711


def test_length_and_iteration():
    x = tf.constant([[1, 2], [3, 4]])
    assert len(x) == 2
    agree(list(x), [[1, 2], [3, 4]])
    first, second = x
    agree([first, second], [[1, 2], [3, 4]])
    with pytest.raises(TypeError, match="Cannot iterate over a scalar tensor"):
        list(tf.constant(1.0))
    with pytest.raises(TypeError, match=r"Scalar tensor has no `len\(\)`"):
        len(tf.constant(1.0))


@pytest.mark.parametrize(
    "convert, value", [(float, 2.0), (int, 2), (bool, True), (complex, 2 + 0j), (str, None), ("{:.2f}".format, "2.00")]
)
def test_conversion_to_python(convert, value):
    x = tf.constant(2.0)
    assert convert(x) == ("tf.Tensor(2.0, shape=(), dtype=float32)" if convert is str else value)


def test_an_integer_tensor_is_an_index():
    assert ["a", "b", "c"][tf.constant(2)] == "c"
    assert list(range(tf.constant(3))) == [0, 1, 2]


def test_truth_of_several_values():
    with pytest.raises(ValueError, match="truth value of an array with more than one element is ambiguous"):
        bool(tf.constant([1.0, 2.0]))
    with pytest.raises(TypeError, match="can be converted to Python scalars"):
        float(tf.constant([1.0, 2.0]))


def test_tensors_do_not_change():
    x = tf.constant([1.0, 2.0])
    with pytest.raises(TypeError, match="does not support item assignment"):
        x[0] = 3.0
    array = x.numpy()
    alias = x
    x = x + 1.0
    agree(alias, [1.0, 2.0])
    assert array.tolist() == [1.0, 2.0]


def test_a_variable_keeps_a_copy_of_its_array():
    array = np.array([1.0, 2.0])
    v = tf.Variable(array)
    x = tf.constant(array)
    array[0] = 100.0
    agree([v, x], [[1.0, 2.0], [1.0, 2.0]])


# Nothing is clamped


@pytest.mark.parametrize(
    "operate, message",
    [
        (lambda: tf.gather([1.0, 2.0], [2]), r"indices\[0\] = 2 is not in \[0, 2\)"),
        (lambda: tf.gather([1.0, 2.0], [0, -1]), r"indices\[1\] = -1 is not in \[0, 2\)"),
        (
            lambda: tf.gather_nd([[1.0, 2.0]], [[0, 5]]),
            r"indices\[0\] = \[0, 5\] does not index into .* shape \[1,2\]",
        ),
        (lambda: tf.constant([1.0, 2.0])[5], "slice index 5 of dimension 0 out of bounds"),
        (lambda: tf.constant([1.0, 2.0])[-3], "slice index -1 of dimension 0 out of bounds"),
        (
            lambda: tf.tensor_scatter_nd_update(tf.zeros([2]), [[4]], [1.0]),
            r"indices\[0\] = \[4\] does not index into shape \[2\]",
        ),
        (lambda: tf.linalg.inv(tf.zeros([2, 2])), "not invertible"),
        (lambda: tf.linalg.solve(tf.zeros([2, 2]), tf.ones([2, 1])), "not invertible"),
        (lambda: tf.constant([1, 2]) // tf.constant([0, 1]), "Integer division by zero"),
        (lambda: tf.constant([1, 2]) % tf.constant([0, 1]), "Integer division by zero"),
        (lambda: tf.constant(1) // 0, "Integer division by zero"),
        (
            lambda: tf.nn.sparse_softmax_cross_entropy_with_logits(labels=[3], logits=[[1.0, 2.0]]),
            r"Received a label value of 3 which is outside the valid range of \[0, 2\)",
        ),
        (lambda: tf.debugging.assert_equal(tf.constant(3.0), 4.0, message="not four"), "not four"),
        (lambda: tf.debugging.assert_positive(tf.constant([1.0, -3.0])), "x > 0 did not hold element-wise"),
        (lambda: tf.debugging.check_numerics(tf.constant([1.0, np.nan]), "found"), "found : Tensor had NaN"),
        (lambda: tf.ones([2, 3]) + tf.ones([4]), r"Incompatible shapes: \[2,3\] vs. \[4\]"),
        (lambda: tf.ones([2, 3]) @ tf.ones([4, 2]), r"Matrix size-incompatible: In\[0\]: \[2,3\], In\[1\]: \[4,2\]"),
        (
            lambda: tf.reshape(tf.ones([2, 3]), [4]),
            "Input to reshape is a tensor with 6 values, but the requested shape has 4",
        ),
    ],
)
def test_bad_values_raise(operate, message):
    with pytest.raises(tf.errors.InvalidArgumentError, match=message):
        operate()


def test_an_error_leaves_the_tape_usable():
    x = tf.Variable([1.0, 2.0])
    with tf.GradientTape() as tape:
        try:
            y = tf.gather(x, 7)
        except tf.errors.InvalidArgumentError:
            y = x * 3.0
        z = y * 2.0
    agree(tape.gradient(z, x), [6.0, 6.0])


def test_slices_may_reach_past_the_end():
    x = tf.constant([1.0, 2.0])
    agree(x[1:9], [2.0])
    assert x[5:].shape == (0,)
