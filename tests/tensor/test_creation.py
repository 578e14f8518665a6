"""What `constant`, `convert_to_tensor` and `Variable` make of Python values and NumPy arrays."""

import re
import types

import ml_dtypes
import numpy as np
import pytest

import gradtape as tf

DTYPES = {
    "bool": np.bool_,
    "int8": np.int8,
    "int16": np.int16,
    "int32": np.int32,
    "int64": np.int64,
    "uint8": np.uint8,
    "uint16": np.uint16,
    "uint32": np.uint32,
    "uint64": np.uint64,
    "float16": np.float16,
    "bfloat16": ml_dtypes.bfloat16,
    "float32": np.float32,
    "float64": np.float64,
    "complex64": np.complex64,
    "complex128": np.complex128,
}
MAKERS = {"constant": tf.constant, "convert_to_tensor": tf.convert_to_tensor, "Variable": tf.Variable}

maker = pytest.mark.parametrize("make", MAKERS.values(), ids=MAKERS)


def without_address(value):
    """A test id that is the same in every process."""
    return re.sub(r" at 0x[0-9a-f]+", "", repr(value))


@maker
@pytest.mark.parametrize(
    "value, dtype, shape",
    [
        (1, "int32", ()),
        (True, "bool", ()),
        (1.0, "float32", ()),
        (1j, "complex128", ()),
        (float("nan"), "float32", ()),
        (float("-inf"), "float32", ()),
        ([1, 2], "int32", (2,)),
        ((1, 2), "int32", (2,)),
        (range(3), "int32", (3,)),
        ([1, 2.5], "float32", (2,)),
        ([True, False], "bool", (2,)),
        ([1j, 2j], "complex128", (2,)),
        ([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]], "float32", (3, 2)),
        ([(1, 2), [3, 4]], "int32", (2, 2)),
        ([], "float32", (0,)),
        ([[], []], "float32", (2, 0)),
        (2**31 - 1, "int32", ()),
        (-(2**31), "int32", ()),
        (2**31, "int64", ()),
        ([1, 2**40], "int64", (2,)),
        (-(2**63), "int64", ()),
    ],
    ids=str,
)
def test_python_values(make, value, dtype, shape):
    tensor = make(value)
    assert tensor.dtype.name == dtype
    assert tensor.shape == shape
    np.testing.assert_array_equal(tensor.numpy(), np.array(value, DTYPES[dtype]))


@maker
@pytest.mark.parametrize("dtype", DTYPES)
def test_numpy_arrays_keep_their_dtype(make, dtype):
    array = np.array([[0, 1, 2], [3, 4, 5]]).astype(DTYPES[dtype])
    tensor = make(array)
    assert tensor.dtype == dtype
    assert tensor.numpy().dtype == DTYPES[dtype]
    assert tensor.shape == (2, 3)
    np.testing.assert_array_equal(tensor.numpy(), array)


@maker
@pytest.mark.parametrize("dtype", DTYPES)
def test_numpy_scalars_keep_their_dtype(make, dtype):
    tensor = make(DTYPES[dtype](1))
    assert tensor.dtype == dtype
    assert tensor.shape == ()
    assert tensor.numpy() == 1


@maker
@pytest.mark.parametrize("dtype", DTYPES)
def test_python_numbers_take_the_dtype_asked_for(make, dtype):
    tensor = make([True, False] if dtype == "bool" else [1, 0], dtype=dtype)
    assert tensor.dtype == dtype
    np.testing.assert_array_equal(tensor.numpy(), np.array([1, 0]).astype(DTYPES[dtype]))


@maker
@pytest.mark.parametrize(
    "dtype", [tf.float64, "float64", "double", np.float64, np.dtype("float64")], ids=lambda dtype: repr(dtype)
)
def test_spellings_of_a_dtype(make, dtype):
    assert make(1, dtype=dtype).dtype is tf.float64


@maker
@pytest.mark.parametrize(
    "value, dtype, expected",
    [
        (True, "float32", 1.0),
        (True, "uint64", 1),
        ([2, True], "int32", [2, 1]),
        (1e40, "float32", np.inf),
        (True, "int32", 1),
        (3, "complex64", 3 + 0j),
        (2**63, "uint64", 2**63),
        (2**64 - 1, "uint64", 2**64 - 1),
        (1e39, "float64", 1e39),
        (1.5, "bfloat16", 1.5),
        (np.array([1.5, -2.5]), "int32", [1, -2]),
        (np.array([1, 2]), "float32", [1.0, 2.0]),
        (np.array([0.1]), "float32", [np.float32(0.1)]),
        (np.float64(0.5), "float16", 0.5),
        (np.array([True, False]), "float32", [1.0, 0.0]),
    ],
    ids=str,
)
def test_conversion_to_a_dtype(make, value, dtype, expected):
    tensor = make(value, dtype=dtype)
    assert tensor.dtype == dtype
    np.testing.assert_array_equal(tensor.numpy(), expected)


@maker
@pytest.mark.parametrize(
    "value, error, message",
    [
        ([[1, 2], [3]], ValueError, "non-rectangular Python sequence"),
        ([[[1, 2], [3, 4]], [[1, 2, 3], [4, 5, 6]]], ValueError, "non-rectangular Python sequence"),
        ([np.zeros((2, 1)), np.ones((1, 2))], ValueError, "non-rectangular Python sequence"),
        ([[1, 2], 3], ValueError, "non-rectangular Python sequence|mixed types"),
        ([True, 1], ValueError, "mixed types"),
        ([1, "a"], ValueError, "mixed types"),
        ([1, 2j], ValueError, "mixed types"),
        ([None], ValueError, r"unsupported type \(<class 'NoneType'>\)"),
        ({"a": 1}, ValueError, r"unsupported type \(<class 'dict'>\)"),
        ({1, 2}, ValueError, r"unsupported type \(<class 'set'>\)"),
        (object(), ValueError, r"unsupported type \(<class 'object'>\)"),
        (2**63, ValueError, "out-of-range integer"),
        (-(2**63) - 1, ValueError, "out-of-range integer"),
        (np.array([object()]), ValueError, "Unsupported object type"),
        (np.datetime64("2020-01-01"), ValueError, "Unsupported numpy type"),
        (1e40, ValueError, "out of range for a double-precision float"),
        ([1.0, -1e40], ValueError, "out of range for a double-precision float"),
    ],
    ids=without_address,
)
def test_values_that_are_no_tensors(make, value, error, message):
    with pytest.raises(error, match=message):
        make(value)


@maker
@pytest.mark.parametrize(
    "value, dtype, message",
    [
        (1.5, tf.int32, "Cannot convert 1.5 to EagerTensor of dtype int32"),
        (1.0, tf.int32, "Cannot convert 1.0 to EagerTensor of dtype int32"),
        ([1, 2.5], tf.int64, "EagerTensor of dtype int64"),
        (1j, tf.float32, "Cannot convert 1j to EagerTensor of dtype float"),
        (1, tf.bool, "Cannot convert 1 to EagerTensor of dtype bool"),
        ("a", tf.float32, "Cannot convert 'a' to EagerTensor of dtype float"),
        (1, "nope", "'nope' to a TensorFlow DType"),
        (1, tf.string, "Cannot convert 1 to EagerTensor of dtype string"),
        (True, tf.uint8, "Cannot convert True to EagerTensor of dtype uint8"),
        ([True], tf.complex64, r"Cannot convert \[True\] to EagerTensor of dtype complex64"),
    ],
    ids=str,
)
def test_dtypes_that_do_not_fit(make, value, dtype, message):
    with pytest.raises(TypeError, match=message):
        make(value, dtype=dtype)


@maker
@pytest.mark.parametrize("value", [10**310, [1, 10**310]], ids=["number", "list"])
def test_integers_beyond_the_largest_float(make, value):
    with pytest.raises(ValueError, match="out-of-range integer"):
        make(value, dtype=tf.float64)


def test_none_is_no_tensor():
    with pytest.raises(ValueError, match=r"unsupported type \(<class 'NoneType'>\)"):
        tf.constant(None)


@maker
def test_a_tensor_does_not_change_dtype(make):
    with pytest.raises((TypeError, ValueError), match="float32"):
        make(tf.constant(1.0), dtype=tf.float64)


@pytest.mark.parametrize("value", [tf.constant([1.0, 2.0]), tf.Variable([1.0, 2.0])], ids=["tensor", "variable"])
def test_convert_to_tensor_of_what_is_one(value):
    tensor = tf.convert_to_tensor(value)
    assert type(tensor).__name__ == "EagerTensor"
    assert tensor.numpy().tolist() == [1.0, 2.0]
    assert tf.convert_to_tensor(value, dtype_hint=tf.float64).dtype == tf.float32
    with pytest.raises(ValueError, match=r"float64.*float32"):
        tf.convert_to_tensor(value, dtype=tf.float64)


def test_dtype_hint_is_only_a_hint():
    assert tf.convert_to_tensor(1, dtype_hint=tf.float64).dtype == tf.float64
    assert tf.convert_to_tensor(1.5, dtype_hint=tf.int32).dtype == tf.float32


class TestConstantShape:
    def test_a_scalar_fills_the_shape(self):
        assert tf.constant(3, shape=(2, 3)).numpy().tolist() == [[3, 3, 3], [3, 3, 3]]

    def test_one_element_fills_the_shape(self):
        assert tf.constant([3.0], shape=(2,)).numpy().tolist() == [3.0, 3.0]

    def test_elements_are_laid_out_in_the_shape(self):
        assert tf.constant([1, 2, 3, 4], shape=(2, 2)).numpy().tolist() == [[1, 2], [3, 4]]

    def test_wrong_count(self):
        with pytest.raises(TypeError, match=r"3 elements, but got `shape` \(2, 2\) with 4 elements"):
            tf.constant([1, 2, 3], shape=(2, 2))


class TestListsOfTensors:
    @pytest.mark.parametrize(
        "value, expected",
        [
            ([tf.constant(1.0), 2.0], [1.0, 2.0]),
            ([tf.constant(1.0), 2], [1.0, 2.0]),
            ([1.0, tf.Variable(2.0)], [1.0, 2.0]),
            ([[tf.constant(1.0), 2.0], [3.0, 4.0]], [[1.0, 2.0], [3.0, 4.0]]),
            ([tf.constant([1.0, 2.0]), [3.0, 4.0]], [[1.0, 2.0], [3.0, 4.0]]),
            ((tf.constant([1.0]), np.array([2.0], "float32")), [[1.0], [2.0]]),
        ],
        ids=["float", "int", "variable", "nested", "rows", "tuple"],
    )
    def test_are_stacked(self, value, expected):
        tensor = tf.convert_to_tensor(value)
        assert tensor.dtype == tf.float32
        assert tensor.numpy().tolist() == expected

    def test_dtypes_must_agree(self):
        with pytest.raises(TypeError, match=r"Cannot convert 2.0 to EagerTensor of dtype int32"):
            tf.convert_to_tensor([tf.constant(1), 2.0])


NUMPY_LAYOUTS = {
    "transposed": np.arange(6.0).reshape(2, 3).T,
    "reversed": np.arange(6.0)[::-1],
    "strided": np.arange(12.0).reshape(3, 4)[::2, 1::2],
    "fortran": np.asfortranarray(np.arange(6.0).reshape(2, 3)),
    "broadcast": np.broadcast_to(np.arange(3.0), (2, 3)),
    "big endian floats": np.arange(3, dtype=">f8"),
    "big endian ints": np.arange(3, dtype=">i4"),
    "empty": np.zeros((0, 3)),
    "zero-dimensional": np.array(2.5),
    "record field": np.array([(1, 2.0), (3, 4.0)], dtype=[("a", "i4"), ("b", "f8")])["b"],
    "unaligned": np.frombuffer(b"\0" + np.arange(3.0).tobytes(), np.uint8)[1:].view("f8"),
}


@maker
@pytest.mark.parametrize("layout", NUMPY_LAYOUTS)
def test_memory_layouts(make, layout):
    array = NUMPY_LAYOUTS[layout]
    tensor = make(array)
    assert tensor.dtype == array.dtype.newbyteorder("=")
    assert tensor.numpy().dtype.isnative
    assert tensor.shape == array.shape
    np.testing.assert_array_equal(tensor.numpy(), array)


@maker
def test_readonly_arrays(make):
    array = np.arange(3.0)
    array.flags.writeable = False
    assert make(array).numpy().tolist() == [0.0, 1.0, 2.0]


@pytest.mark.parametrize("size", [3, 4096], ids=["small", "large"])
class TestTheSourceCanChange:
    """A tensor is a copy: arrays of every size, also where an array would do without one."""

    @maker
    def test_after_creation(self, make, size):
        array = np.zeros(size, "float32")
        tensor = make(array)
        array[:] = 7.0
        assert not tensor.numpy().any()

    @maker
    def test_before_the_value_is_needed(self, make, size):
        array = np.zeros(size, "float32")
        total = tf.reduce_sum(make(array) + 1.0)
        array[:] = 7.0
        assert total.numpy() == size

    def test_as_an_operand(self, size):
        array = np.ones(size, "float32")
        product = tf.ones([size]) * array
        array[:] = 7.0
        assert tf.reduce_sum(product).numpy() == size

    def test_after_assignment(self, size):
        array = np.ones(size, "float32")
        variable = tf.Variable(tf.zeros([size]))
        variable.assign(array)
        array[:] = 7.0
        assert variable.numpy().max() == 1.0

    def test_as_an_argument(self, size):
        array = np.ones(size, "float32")
        result = tf.concat([array, array], 0)
        array[:] = 7.0
        assert result.numpy().max() == 1.0


class TestWhatNumpyReturnsIsTheUsers:
    def test_writing_to_it_does_not_change_the_tensor(self):
        tensor = tf.constant([1.0, 2.0])
        array = tensor.numpy().copy()
        array[0] = 9.0
        assert tensor.numpy().tolist() == [1.0, 2.0]

    def test_writing_to_a_variables_array_does_not_change_the_variable(self):
        variable = tf.Variable([1.0, 2.0])
        array = np.array(variable)
        array[0] = 9.0
        assert variable.numpy().tolist() == [1.0, 2.0]

    def test_assignment_does_not_change_an_array_taken_before(self):
        variable = tf.Variable(tf.zeros([4096]))
        before = variable.numpy()
        for _ in range(3):
            variable.assign_add(tf.ones([4096]))
        assert not before.any()
        assert variable.numpy().max() == 3.0

    def test_assignment_does_not_change_a_tensor_read_before(self):
        variable = tf.Variable([1.0, 2.0])
        before, computed = variable.read_value(), variable * 10.0
        variable.assign([3.0, 4.0])
        assert before.numpy().tolist() == [1.0, 2.0]
        assert computed.numpy().tolist() == [10.0, 20.0]


@pytest.mark.parametrize(
    "value, expected",
    [
        ("a", b"a"),
        (b"a", b"a"),
        ("é", "é".encode()),
        (["a", "bc"], [b"a", b"bc"]),
        (np.array(["x", "y"]), [b"x", b"y"]),
    ],
    ids=repr,
)
def test_strings(value, expected):
    tensor = tf.constant(value)
    assert tensor.dtype == tf.string
    assert tensor.shape == np.shape(expected)
    assert (tensor.numpy().tolist() if tensor.shape.rank else tensor.numpy()) == expected


FILLED = {
    "zeros": (lambda: tf.zeros([2, 3]), np.zeros((2, 3), "f4")),
    "zeros, scalar": (lambda: tf.zeros([]), np.zeros((), "f4")),
    "zeros, int shape": (lambda: tf.zeros(3), np.zeros(3, "f4")),
    "zeros, tensor shape": (lambda: tf.zeros(tf.constant([2, 1])), np.zeros((2, 1), "f4")),
    "zeros, TensorShape": (lambda: tf.zeros(tf.TensorShape([2, 1])), np.zeros((2, 1), "f4")),
    "zeros, list of tensors": (lambda: tf.zeros([tf.constant(2), 3]), np.zeros((2, 3), "f4")),
    "zeros, dtype": (lambda: tf.zeros((2,), tf.int64), np.zeros(2, "i8")),
    "zeros, bool": (lambda: tf.zeros((2,), tf.bool), np.zeros(2, "?")),
    "ones": (lambda: tf.ones([2, 3]), np.ones((2, 3), "f4")),
    "ones, complex": (lambda: tf.ones([2], tf.complex64), np.ones(2, "c8")),
    "zeros_like": (lambda: tf.zeros_like(tf.constant([[1, 2]])), np.zeros((1, 2), "i4")),
    "zeros_like, list": (lambda: tf.zeros_like([1.0, 2.0]), np.zeros(2, "f4")),
    "zeros_like, NumPy": (lambda: tf.zeros_like(np.ones(2)), np.zeros(2, "f8")),
    "zeros_like, variable": (lambda: tf.zeros_like(tf.Variable([1.0, 2.0])), np.zeros(2, "f4")),
    "ones_like, dtype": (lambda: tf.ones_like(tf.constant([1, 2]), dtype=tf.float64), np.ones(2, "f8")),
    "fill": (lambda: tf.fill([2, 2], 7.0), np.full((2, 2), 7, "f4")),
    "fill, int": (lambda: tf.fill([2], 7), np.full(2, 7, "i4")),
    "fill, tensor": (lambda: tf.fill([2], tf.constant(7, tf.int64)), np.full(2, 7, "i8")),
    "eye": (lambda: tf.eye(2), np.eye(2, dtype="f4")),
    "eye, of floating tensors": (lambda: tf.eye(tf.constant(2.7), tf.constant(3.0)), np.eye(2, 3, dtype="f4")),
    "eye, columns": (lambda: tf.eye(2, 3, dtype=tf.float64), np.eye(2, 3)),
    "eye, batch": (lambda: tf.eye(2, batch_shape=[3]), np.broadcast_to(np.eye(2, dtype="f4"), (3, 2, 2))),
    "range": (lambda: tf.range(5), np.arange(5, dtype="i4")),
    "range, bounds": (lambda: tf.range(2, 9, 3), np.arange(2, 9, 3, dtype="i4")),
    "range, downwards": (lambda: tf.range(5, 0, -2), np.arange(5, 0, -2, dtype="i4")),
    "range, floats": (lambda: tf.range(0.0, 1.0, 0.25), np.arange(0, 1, 0.25, dtype="f4")),
    "range, int and float": (lambda: tf.range(0, 1, 0.5), np.array([0, 0.5], "f4")),
    "range, empty": (lambda: tf.range(0), np.zeros(0, "i4")),
    "range, dtype": (lambda: tf.range(3, dtype=tf.float64), np.arange(3.0)),
    "range, int64 tensor": (lambda: tf.range(tf.constant(3, tf.int64)), np.arange(3, dtype="i8")),
    "linspace": (lambda: tf.linspace(0.0, 1.0, 5), np.linspace(0, 1, 5, dtype="f4")),
    "linspace, one": (lambda: tf.linspace(2.0, 3.0, 1), np.array([2], "f4")),
    "linspace, ends are exact": (lambda: tf.linspace(0.1, 0.7, 7)[-1], np.float32(0.7)),
    "linspace, rows": (lambda: tf.linspace([0.0, 1.0], [1.0, 3.0], 3), np.linspace([0, 1], [1, 3], 3, dtype="f4")),
    "one_hot": (lambda: tf.one_hot([1, 0, 5, -1], 3), np.array([[0, 1, 0], [1, 0, 0], [0, 0, 0], [0, 0, 0]], "f4")),
    "one_hot, values": (lambda: tf.one_hot([1], 2, on_value=5, off_value=-1), np.array([[-1, 5]], "i4")),
    "one_hot, axis": (lambda: tf.one_hot([1, 0, 0], 2, axis=0), np.array([[0, 1, 1], [1, 0, 0]], "f4")),
    "sequence_mask": (lambda: tf.sequence_mask([1, 3]), np.array([[1, 0, 0], [1, 1, 1]], "?")),
    "sequence_mask, dtype": (lambda: tf.sequence_mask([1], 2, tf.float32), np.array([[1, 0]], "f4")),
}


@pytest.mark.parametrize("make, expected", FILLED.values(), ids=FILLED)
def test_filled_tensors(make, expected):
    tensor = make()
    assert tensor.dtype == expected.dtype
    assert tensor.shape == expected.shape
    np.testing.assert_array_equal(tensor.numpy(), expected)


@pytest.mark.parametrize("dtype", DTYPES)
def test_zeros_and_ones_of_every_dtype(dtype):
    for make, expected in ((tf.zeros, 0), (tf.ones, 1)):
        tensor = make([2], dtype)
        assert tensor.dtype == dtype
        assert tensor.numpy().dtype == DTYPES[dtype]
        assert (tensor.numpy() == expected).all()


@pytest.mark.parametrize(
    "source, target",
    [
        (source, target)
        for source in (
            "bool",
            "int8",
            "uint8",
            "int32",
            "int64",
            "float16",
            "bfloat16",
            "float32",
            "float64",
            "complex64",
        )
        for target in DTYPES
    ],
)
def test_cast(source, target):
    array = np.array([0, 1, 3]).astype(DTYPES[source])
    tensor = tf.cast(tf.constant(array), target)
    expected = (array.real if source.startswith("complex") and not target.startswith("complex") else array).astype(DTYPES[target])
    assert tensor.dtype == target
    np.testing.assert_array_equal(tensor.numpy(), expected)


@pytest.mark.parametrize(
    "value, target, expected",
    [
        ([1.9, -1.9], "int32", [1, -1]),
        ([0.0, 0.5, -2.0], "bool", [False, True, True]),
        ([300, -1], "uint8", [44, 255]),
        ([2.0**40 + 1], "int64", [2**40]),
        ([True, False], "float16", [1.0, 0.0]),
    ],
    ids=str,
)
def test_cast_of_awkward_values(value, target, expected):
    assert tf.cast(value, target).numpy().tolist() == expected


def test_saturate_cast():
    assert tf.saturate_cast([300.0, -5.0, 7.0], tf.uint8).numpy().tolist() == [255, 0, 7]


def test_cast_to_the_same_dtype_is_the_tensor_itself():
    tensor = tf.constant([1.0])
    assert tf.cast(tensor, tf.float32) is tensor


@pytest.mark.parametrize(
    "value, expected",
    [
        (tf.constant(1.0), True),
        (tf.Variable(1.0), True),
        (tf.IndexedSlices([1.0], [0]), True),
        (1.0, False),
        (np.ones(1), False),
        ([tf.constant(1.0)], False),
        (None, False),
        (types.SimpleNamespace(is_tensor_like=True), True),
    ],
    ids=["tensor", "variable", "slices", "number", "array", "list", "None", "says so"],
)
def test_is_tensor(value, expected):
    assert tf.is_tensor(value) is expected


def test_types():
    tensor, variable = tf.constant(1.0), tf.Variable(1.0)
    assert type(tensor).__name__ == "EagerTensor"
    assert type(variable).__name__ == "ResourceVariable"
    assert isinstance(tensor, tf.Tensor)
    assert isinstance(variable, tf.Variable)
    assert not isinstance(variable, tf.Tensor)
    assert not isinstance(tensor, tf.Variable)
    assert isinstance(tensor + 1.0, type(tensor))


def test_get_static_value():
    assert tf.get_static_value(tf.constant([1, 2])).tolist() == [1, 2]
    assert tf.get_static_value(tf.constant(3)) == 3


def test_identity_is_a_new_tensor():
    tensor = tf.constant([1.0])
    copy = tf.identity(tensor)
    assert copy is not tensor
    assert copy.numpy().tolist() == [1.0]
    variable = tf.Variable([1.0])
    read = tf.identity(variable)
    variable.assign([2.0])
    assert read.numpy().tolist() == [1.0]


def test_a_vector_of_one_is_a_number_outside_of_functions():
    assert tf.fill([2], [1.5]).numpy().tolist() == [1.5, 1.5]
    assert tf.range([1], [3]).numpy().tolist() == [1, 2]


@pytest.mark.parametrize(
    "shape, wanted, result",
    [([0, 3], [-1, 0], [3, 0]), ([0, 3], [0, -1], [0, 3]), ([0, 3, 2], [0, 4, -1], [0, 4, 1]), ([0, 3], [-1, 3], [0, 3])],
)
def test_reshape_of_nothing_counts_no_zeros(shape, wanted, result):
    assert tf.reshape(tf.zeros(shape), wanted).shape == result


def test_cast_to_the_same_dtype_is_the_variable_itself():
    rate, count = tf.Variable(1.0), tf.Variable(1)
    kept = tf.cast(rate, tf.float32)
    rate.assign(0.5)
    assert kept is rate and (kept * 2.0).numpy() == 1.0
    assert tf.cast(count, tf.float32) is not count and tf.compat.v1.to_int32(count) is count

    @tf.function
    def later():
        seen = tf.cast(rate, "float32")
        rate.assign_add(1.0)
        return seen

    assert later().numpy() == 1.5
