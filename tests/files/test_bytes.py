"""Tensors as bytes, numbers of bytes, base64, comma-separated values. Expected values are TensorFlow's."""

import gzip
import zlib

import ml_dtypes
import numpy as np
import pytest

import gradtape as tf

INVALID = tf.errors.InvalidArgumentError


def string(data):
    return np.array(data, object)


SERIALIZED = [
    (np.array([[1, 2]], np.float32), b'\x08\x01\x12\x08\x12\x02\x08\x01\x12\x02\x08\x02"\x08\x00\x00\x80?\x00\x00\x00@'),
    (np.int32(3), b'\x08\x03\x12\x00"\x04\x03\x00\x00\x00'),
    (string([b"a", b"bc"]), b"\x08\x07\x12\x04\x12\x02\x08\x02B\x01aB\x02bc"),
    (np.array([True, False]), b'\x08\n\x12\x04\x12\x02\x08\x02"\x02\x01\x00'),
    (np.array([1, 2], ml_dtypes.bfloat16), b'\x08\x0e\x12\x04\x12\x02\x08\x02"\x04\x80?\x00@'),
    (np.zeros(0, np.int64), b"\x08\t\x12\x02\x12\x00"),
    (np.array([[1, 2]], np.float16), b'\x08\x13\x12\x08\x12\x02\x08\x01\x12\x02\x08\x02"\x04\x00<\x00@'),
]


@pytest.mark.parametrize("array, data", SERIALIZED)
def test_tensors_are_tensorflows_bytes(array, data):
    assert tf.io.serialize_tensor(array).numpy() == data
    parsed = tf.io.parse_tensor(string(data), array.dtype)
    assert parsed.dtype == array.dtype
    np.testing.assert_array_equal(parsed, array)


@pytest.mark.parametrize(
    "data, message",
    [
        (b"garbage", "Could not parse `serialized` as TensorProto"),
        (SERIALIZED[0][1], r"Type mismatch between parsed tensor \(float32\) and dtype \(int32\)"),
        (b'\x08\x03\x12\x04\x12\x02\x08\x09"\x04\x03\x00\x00\x00', r"4 bytes are no int32\[9\]"),
        (b"\x08\x03\x12\x0a\x12\x08\x08\xff\xff\xff\xff\xff\xff\x07:\x01\x01", "1 values are no int32"),  # a hostile shape
        ([b"", b""], r"Expected `serialized` to be a scalar, got shape: \[2\]"),
    ],
)
def test_bytes_that_are_no_tensor(data, message):
    with pytest.raises(INVALID, match=message):
        tf.io.parse_tensor(string(data), tf.int32)


PROTOS = [
    ([1, 2, 3], {}, b'\x08\x03\x12\x04\x12\x02\x08\x03"\x0c\x01\x00\x00\x00\x02\x00\x00\x00\x03\x00\x00\x00', [1, 2, 3]),
    ([1.5], {}, b"\x08\x01\x12\x04\x12\x02\x08\x01*\x04\x00\x00\xc0?", [1.5]),
    (5, {"shape": [2, 2]}, b"\x08\x03\x12\x08\x12\x02\x08\x02\x12\x02\x08\x02:\x01\x05", [[5, 5], [5, 5]]),
    ("abc", {}, b"\x08\x07\x12\x00B\x03abc", b"abc"),
    (True, {}, b"\x08\n\x12\x00Z\x01\x01", True),
    (1 + 2j, {}, b"\x08\x12\x12\x00b\x10\x00\x00\x00\x00\x00\x00\xf0?\x00\x00\x00\x00\x00\x00\x00@", 1 + 2j),
]


@pytest.mark.parametrize("values, options, data, array", PROTOS)
def test_make_tensor_proto(values, options, data, array):
    proto = tf.make_tensor_proto(values, **options)
    assert proto.SerializeToString() == data
    assert tf.make_ndarray(proto).tolist() == array


def test_what_is_no_tensor_proto():
    with pytest.raises(TypeError, match=r"Expected Tensor's shape: \(3,\), but got \(2,\)"):
        tf.make_tensor_proto([1, 2], shape=[3], verify_shape=True)
    with pytest.raises(ValueError, match=r"Too many elements provided. Takes at most 3, but got 4"):
        tf.make_tensor_proto([1, 2, 3, 4], shape=[3])
    with pytest.raises(ValueError, match="None values not supported"):
        tf.make_tensor_proto(None)


def test_decode_raw():
    raw = tf.io.decode_raw
    assert raw(string(b"\1\0\2\0"), tf.int16).numpy().tolist() == [1, 2]
    assert raw(string(b"\1\0\2\0"), tf.int16, little_endian=False).numpy().tolist() == [256, 512]
    assert raw(string([b"\1\0", b"\2\0"]), tf.uint8).numpy().tolist() == [[1, 0], [2, 0]]
    assert raw(string([b"\1\0", b"\2"]), tf.uint8, fixed_length=4).numpy().tolist() == [[1, 0, 0, 0], [2, 0, 0, 0]]
    assert raw(string(b"\1\0"), tf.bool).numpy().tolist() == [True, False]
    assert raw(tf.constant([], tf.string), tf.uint8).shape == (0, 0)
    with pytest.raises(INVALID, match="length 3 that is not a multiple of 2, the size of int16"):
        raw(string(b"\1\0\2"), tf.int16)
    with pytest.raises(INVALID, match="to all be the same size, but element 1 has size 1 != 2"):
        raw(string([b"\1\0", b"\2"]), tf.uint8)
    with pytest.raises(INVALID, match=r"fixed_length \(3\) must be a multiple of the size of out_type \(2\)"):
        raw(string(b"\1"), tf.int16, fixed_length=3)
    with pytest.raises(INVALID, match="string is not in the list of allowed values"):
        raw(string(b"\1"), tf.string)


def test_base64():
    assert tf.io.encode_base64(b"\xff\xfehello?").numpy() == b"__5oZWxsbz8"
    assert tf.io.encode_base64(["a", "ab"], pad=True).numpy().tolist() == [b"YQ==", b"YWI="]
    assert tf.io.decode_base64(["YQ==", "YWI", "_-5oZWw", "YR"]).numpy().tolist() == [b"a", b"ab", b"\xff\xeehel", b"a"]
    for wrong in ("+/", "a b=", "YQ="):
        with pytest.raises(INVALID, match="Invalid character found in base64"):
            tf.io.decode_base64(wrong)
    with pytest.raises(INVALID, match="Base64 string length cannot be 1 modulo 4"):
        tf.io.decode_base64("a")


def test_decode_compressed():
    assert tf.io.decode_compressed(string([zlib.compress(b"abc")]), "ZLIB").numpy().tolist() == [b"abc"]
    assert tf.io.decode_compressed(string(gzip.compress(b"abc")), "GZIP").numpy() == b"abc"
    assert tf.io.decode_compressed("abc").numpy() == b"abc"
    with pytest.raises(tf.errors.DataLossError, match="error -3: incorrect header check"):
        tf.io.decode_compressed("abc", "ZLIB")
    with pytest.raises(INVALID, match="Only ZLIB, GZIP or NONE are supported"):
        tf.io.decode_compressed("abc", "Q")


CSV = [
    ("1,2.5,abc", [0, 0.0, ""], {}, [1, 2.5, b"abc"]),
    (["1,2.5,abc", ",,"], [[7], [8.0], ["d"]], {}, [[1, 7], [2.5, 8.0], [b"abc", b"d"]]),
    ('"a,b","c""d",e', ["", "", ""], {}, [b"a,b", b'c"d', b"e"]),
    ('"a",c', ["", ""], {"use_quote_delim": False}, [b'"a"', b"c"]),
    ("a;b", ["", ""], {"field_delim": ";"}, [b"a", b"b"]),
    ("NA,1", [3, 4], {"na_value": "NA"}, [3, 1]),
    (" 5 , 1", [3, 4.0], {}, [5, 1.0]),
    ("1,2,3", [0, 1], {"select_cols": [0, 2]}, [1, 3]),
    ('"1\n",2', ["", ""], {}, [b"1\n", b"2"]),
    ("+5,-0,1e3", [0, 0.0, 0.0], {}, [5, 0.0, 1000.0]),
    ([["1", "2"]], [0], {}, [[[1, 2]]]),
]


@pytest.mark.parametrize("records, defaults, options, columns", CSV)
def test_decode_csv(records, defaults, options, columns):
    assert [np.asarray(column).tolist() for column in tf.io.decode_csv(records, defaults, **options)] == columns


NO_CSV = [
    (",1", [tf.constant([], tf.int32), 0], {}, "Field 0 is required but missing in record 0!"),
    ("1,2", [0], {}, "Expect 1 fields but have 2 in record 0"),
    ("", [""], {}, "Expect 1 fields but have 0 in record 0"),
    ('a"b,c', ["", ""], {}, "Unquoted fields cannot have quotes/CRLFs inside"),
    ("1,2\n3", ["", ""], {}, "Unquoted fields cannot have quotes/CRLFs inside"),
    ('"a"b,c', ["", ""], {}, "Quote inside a string has to be escaped by another quote"),
    ('"a,c', ["", ""], {}, "Quoted field has to end with quote followed by delim or end"),
    ("a;b", ["", ""], {"field_delim": ";;"}, "field_delim should be only 1 char"),
    ("x,1", [3, 4], {}, "Field 0 in record 0 is not a valid int32: x"),
    ("1.5,1", [3, 4], {}, "Field 0 in record 0 is not a valid int32: 1.5"),
    ("99999999999,1", [3, 4], {}, "is not a valid int32: 99999999999"),
    ("1_0", [0], {}, "is not a valid int32: 1_0"),
    ("1d", [0.0], {}, "Field 0 in record 0 is not a valid float: 1d"),
    ("1", [True], {}, "bool is not in the list of allowed values"),
    ("1", [[[1]]], {}, "Each record default should be at most rank 1"),
    ("1", [[1, 2]], {}, "There should only be 1 default per field but field 0 has 2"),
]


@pytest.mark.parametrize("records, defaults, options, message", NO_CSV)
def test_what_is_no_csv(records, defaults, options, message):
    with pytest.raises(INVALID, match=message):
        tf.io.decode_csv(records, defaults, **options)


def test_columns_are_chosen_in_order():
    with pytest.raises(ValueError, match="select_cols is not strictly increasing"):
        tf.io.decode_csv("1,2,3", [0, 1], select_cols=[2, 0])
    with pytest.raises(ValueError, match="Length of select_cols and record_defaults do not match"):
        tf.io.decode_csv("1,2", [0, 0], select_cols=[0])
