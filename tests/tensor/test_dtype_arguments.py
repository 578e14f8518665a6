"""Arguments that name a dtype: a tensor is none, None is the default where TensorFlow takes it so; types of eight bits."""

import numpy as np
import pytest

import gradtape as tf

DTYPE = "to a TensorFlow DType"


@pytest.mark.parametrize("given", [tf.constant([1]), tf.Variable(1)], ids=["tensor", "variable"])
def test_a_tensor_names_no_dtype(given):
    for call in (tf.as_dtype, lambda d: tf.bitcast([1.0], d), lambda d: tf.cast([1.0], d), lambda d: tf.zeros([2], d)):
        with pytest.raises(TypeError, match=DTYPE):
            call(given)


def test_none_is_the_default_dtype_of_places():
    for found in (tf.unique([1, 2, 1], None), tf.unique_with_counts([1, 2, 1], None)):
        assert found.idx.dtype == tf.int32 and found.idx.numpy().tolist() == [0, 1, 0]
    assert tf.argmax([1.0], output_type=None).dtype == tf.argmin([1.0], output_type=None).dtype == tf.int64
    assert tf.compat.v1.setdiff1d([1], [2], None).idx.dtype == tf.int32


@pytest.mark.parametrize(
    "dtype, values",
    [
        (tf.dtypes.experimental.float8_e4m3fn, [1.5, -2.25, 288.0, np.nan]),
        (tf.dtypes.experimental.float8_e5m2, [1.5, -2.0, 320.0, 512.0]),
    ],
    ids=["e4m3fn", "e5m2"],
)
def test_floats_of_eight_bits_hold_what_they_do_in_tensorflow(dtype, values):
    x = tf.constant([1.5, -2.25, 300.0, 500.0])
    with tf.GradientTape() as tape:
        tape.watch(x)
        held = tf.cast(x, dtype)
        y = tf.cast(held, tf.float32)
    assert held.dtype.size == 1 and held.numpy().itemsize == 1
    np.testing.assert_array_equal(y, values)
    np.testing.assert_array_equal(tape.gradient(y, x), np.ones(4))
    np.testing.assert_array_equal(tf.cast(tf.concat([held[:1], tf.reshape(held, [2, 2])[0]], 0), tf.float32), [1.5, *values[:2]])
    with pytest.raises(tf.errors.InvalidArgumentError, match="not in the list of allowed values"):
        held + held
