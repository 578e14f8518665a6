"""`DType` and `as_dtype`."""

import copy
import pickle

import ml_dtypes
import numpy as np
import pytest

import gradtape as tf

# name: NumPy's type, size in bytes, kind, smallest, largest
DTYPES = {
    "bool": (np.bool_, 1, "bool", None, None),
    "int8": (np.int8, 1, "integer", -128, 127),
    "int16": (np.int16, 2, "integer", -(2**15), 2**15 - 1),
    "int32": (np.int32, 4, "integer", -(2**31), 2**31 - 1),
    "int64": (np.int64, 8, "integer", -(2**63), 2**63 - 1),
    "uint8": (np.uint8, 1, "unsigned", 0, 255),
    "uint16": (np.uint16, 2, "unsigned", 0, 2**16 - 1),
    "uint32": (np.uint32, 4, "unsigned", 0, 2**32 - 1),
    "uint64": (np.uint64, 8, "unsigned", 0, 2**64 - 1),
    "float16": (np.float16, 2, "floating", -65504.0, 65504.0),
    "bfloat16": (ml_dtypes.bfloat16, 2, "floating", -3.38953e38, 3.38953e38),
    "float32": (np.float32, 4, "floating", np.finfo("f4").min, np.finfo("f4").max),
    "float64": (np.float64, 8, "floating", np.finfo("f8").min, np.finfo("f8").max),
    "complex64": (np.complex64, 8, "complex", None, None),
    "complex128": (np.complex128, 16, "complex", None, None),
}


@pytest.mark.parametrize("name", DTYPES)
def test_properties(name):
    dtype = getattr(tf, name)
    numpy_type, size, kind, _, _ = DTYPES[name]
    assert isinstance(dtype, tf.DType)
    assert dtype.name == name
    assert dtype.size == size
    assert dtype.as_numpy_dtype is numpy_type
    assert dtype.is_floating is (kind == "floating")
    assert dtype.is_integer is (kind in ("integer", "unsigned"))
    assert dtype.is_unsigned is (kind == "unsigned")
    assert dtype.is_complex is (kind == "complex")
    assert dtype.is_bool is (kind == "bool")
    assert dtype.is_quantized is False
    assert dtype.base_dtype is dtype


@pytest.mark.parametrize("name", [name for name, row in DTYPES.items() if row[4] is not None])
def test_limits(name):
    dtype = getattr(tf, name)
    _, _, _, smallest, largest = DTYPES[name]
    assert float(dtype.min) == pytest.approx(float(smallest), rel=1e-4)
    assert float(dtype.max) == pytest.approx(float(largest), rel=1e-4)


@pytest.mark.parametrize("name", ["complex64", "string", "bool"])
def test_no_limits(name):
    with pytest.raises(TypeError, match=f"Cannot find maximum value of .*{name}"):
        _ = getattr(tf, name).max
    with pytest.raises(TypeError, match=f"Cannot find minimum value of .*{name}"):
        _ = getattr(tf, name).min


def test_range_of_values():
    assert tf.uint8.limits == (0, 255)
    assert tf.int8.limits == (0, 127)
    assert tf.float32.limits == (0, 1)
    assert tf.bool.limits == (0, True)
    assert tf.string.as_numpy_dtype is object and tf.string.size == 0
    for dtype in (tf.float16, tf.bfloat16, tf.complex64, tf.string):
        with pytest.raises(ValueError, match=f"^<dtype: '{dtype.name}'> does not have defined limits"):
            _ = dtype.limits


def test_real_dtype():
    assert tf.complex64.real_dtype is tf.float32
    assert tf.complex128.real_dtype is tf.float64
    assert tf.float16.real_dtype is tf.float16


def test_aliases():
    assert tf.double is tf.float64
    assert tf.half is tf.float16
    assert tf.dtypes.float32 is tf.float32
    assert tf.dtypes.as_dtype is tf.as_dtype


@pytest.mark.parametrize(
    "value, expected",
    [
        (tf.float32, "float32"),
        ("float32", "float32"),
        ("float", "float32"),
        ("double", "float64"),
        ("half", "float16"),
        ("bfloat16", "bfloat16"),
        ("bool", "bool"),
        ("string", "string"),
        (float, "float32"),
        (bool, "bool"),
        (np.float64, "float64"),
        (np.dtype("int16"), "int16"),
        (np.dtype(">f4"), "float32"),
        (np.bool_, "bool"),
        (ml_dtypes.bfloat16, "bfloat16"),
        (np.array([1, 2], "uint8").dtype, "uint8"),
        (np.dtype("U3"), "string"),
        (np.zeros([2], "int16"), "int16"),
        (np.zeros([], ">f8"), "float64"),
        (np.uint8(3), "uint8"),
        (1, "float32"),
    ],
    ids=repr,
)
def test_as_dtype(value, expected):
    assert tf.as_dtype(value) is getattr(tf, expected)


@pytest.mark.parametrize("value", ["nope", None, "f4", object()], ids=["nope", "None", "f4", "object"])
def test_what_is_no_dtype(value):
    with pytest.raises(TypeError, match=r"Cannot convert the argument `type_value`: .* to a TensorFlow DType"):
        tf.as_dtype(value)


@pytest.mark.parametrize(
    "other, equal",
    [
        (tf.float32, True),
        ("float32", True),
        (np.float32, True),
        (np.dtype("float32"), True),
        (float, True),
        (tf.float64, False),
        ("float64", False),
        (np.float64, False),
        (None, False),
        ("nope", False),
        (object(), False),
    ],
    ids=lambda other: repr(other).partition(" at ")[0],
)
def test_equality(other, equal):
    assert (tf.float32 == other) is equal
    assert (tf.float32 != other) is not equal


def test_numpy_dtypes_compare_from_the_left():
    assert np.float32(1).dtype == tf.float32.as_numpy_dtype
    assert tf.constant(1.0).dtype in (tf.float16, tf.float32)
    assert tf.constant(1.0).dtype not in [tf.float16, tf.float64]


def test_hash():
    assert {tf.float32: "found"}[tf.as_dtype("float32")] == "found"
    assert len({tf.float32, tf.as_dtype("float32"), tf.float64}) == 2


def test_is_compatible_with():
    assert tf.float32.is_compatible_with("float32")
    assert not tf.float32.is_compatible_with(tf.float64)


def test_numpy_uses_the_numpy_dtype():
    assert np.zeros(2, tf.float16.as_numpy_dtype).dtype == np.float16
    assert np.dtype(tf.bfloat16.as_numpy_dtype).itemsize == 2


def test_a_dtype_is_not_called():
    with pytest.raises(TypeError, match="not callable"):
        tf.float32(1.0)


def test_copies_are_the_same_dtype():
    assert copy.deepcopy(tf.float32) == tf.float32
    assert pickle.loads(pickle.dumps(tf.bfloat16)) == tf.bfloat16
