"""The dtypes that Keras gives to integers, and to operands of 64 bits: those of Keras on TensorFlow 2.21, but for one."""

import numpy as np
import pytest

import gradtape as tf

keras = tf.keras


@pytest.mark.parametrize(
    ("types", "expected"),
    [
        ((int,), "int32"),
        (("int64", int), "int64"),
        (("int32", "int64"), "int64"),
        (("uint32", "int32"), "int32"),  # as on JAX; TensorFlow gives int64
        (("uint32", "int64"), "int64"),
        (("int64", float), "float32"),
        (("int64", "float16"), "float16"),
        (("float32", "float64"), "float64"),
        (("float64", int), "float64"),
        (("int32", "float64"), "float64"),
        (("complex64", "float32"), "complex64"),
        (("complex64", complex), "complex64"),
        (("complex128", complex), "complex128"),  # TensorFlow gives complex64
    ],
)
def test_promotion(types, expected):
    assert keras.backend.result_type(*types) == expected


def test_floats_without_a_dtype_take_the_default_of_64_bits():
    keras.backend.set_floatx("float64")
    try:
        assert keras.backend.result_type(float) == "float64"
        assert keras.backend.result_type("int32", float) == "float64"
        assert keras.ops.sqrt(keras.ops.convert_to_tensor([1, 2])).dtype == tf.float64
    finally:
        keras.backend.set_floatx("float32")


def test_symbols_have_the_dtype_of_the_values():
    for dtype in ("int64", "float64"):
        x = np.ones([2, 3], dtype)
        symbol = keras.Input([3], dtype=dtype)
        for f in (lambda x: x + 1, keras.ops.square, keras.ops.sum, lambda x: keras.ops.cumsum(x, -1), keras.ops.mean):
            assert keras.backend.standardize_dtype(f(keras.ops.convert_to_tensor(x)).dtype) == f(symbol).dtype


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (lambda: keras.backend.standardize_dtype(int), "int64"),
        (lambda: keras.Input([2], dtype="int").dtype, "int64"),
        (lambda: keras.ops.cast(1.5, "int").dtype.name, "int64"),
        (lambda: keras.optimizers.SGD().iterations.dtype, "int64"),
        (lambda: keras.metrics.MeanIoU(2).total_cm.dtype, "int64"),
        (lambda: keras.random.SeedGenerator(1).state.dtype, "int64"),
        (lambda: keras.ops.size(keras.ops.ones([2, 3])).dtype.name, "int32"),
        (lambda: keras.Variable([1, 2]).dtype, "int32"),
    ],
)
def test_integers(value, expected):
    assert value() == expected


def test_a_seed_beyond_32_bits():
    first, second = [keras.random.randint([4], 0, 1000, seed=2**40 + i).numpy() for i in (0, 1)]
    assert (first != second).any()


def test_an_initializer_that_gives_another_dtype():
    variable = keras.Variable(initializer=lambda *shape, **dtype: np.ones([1]), shape=[1], dtype="float32")
    assert (variable.dtype, variable.numpy().tolist()) == ("float32", [1.0])


def test_a_number_on_either_side_has_no_dtype_of_its_own():
    x = tf.constant([1.0, 2.0], tf.float64)
    for name in "add subtract multiply divide power maximum minimum mod floor_divide arctan2 where".split():
        function = getattr(keras.ops, name)
        function = (lambda a, b: keras.ops.where([True, False], a, b)) if name == "where" else function
        assert function(2, x).dtype == function(x, 2).dtype == function(1.5, x).dtype == tf.float64, name


def test_signatures_are_those_of_keras_and_arguments_go_by_either_way():
    from keras.src.backend import numpy

    x = tf.constant([[3, 1], [2, 5]], tf.uint8)
    assert numpy.sum(x, 0, True).numpy().tolist() == [[5, 6]]
    assert numpy.sum(x, keepdims=True, axis=0).dtype == tf.uint32  # tf.experimental.numpy has uint64
    assert numpy.arange(3.0).dtype == numpy.zeros([2]).dtype == tf.float32
    with pytest.raises(TypeError, match=r"at most 3 arguments\. Received: 4"):
        numpy.mean(x, 0, True, None)
    with pytest.raises(ValueError, match="axis 2 is out of bounds for a tensor of 2 dimensions"):
        keras.ops.flip(x, 2)


def test_what_is_made_of_a_variable_has_its_value_of_then():
    variable = keras.Variable([1.0, 2.0])
    found = [keras.ops.cast(variable, "float32"), keras.ops.copy(variable), keras.ops.real(variable)]
    metric = keras.metrics.Sum()
    metric.update_state([1.0, 2.0])
    found.append(metric.result())
    variable.assign([7.0, 8.0])
    metric.reset_state()
    assert [part.numpy().tolist() for part in found] == [[1.0, 2.0]] * 3 + [3.0]
