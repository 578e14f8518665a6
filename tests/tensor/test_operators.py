"""Python's operators on tensors and variables: values as NumPy's, dtypes as TensorFlow's."""

import operator

import numpy as np
import pytest

import gradtape as tf

FLOATS = ["float16", "float32", "float64"]
INTS = ["int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"]
ARITHMETIC = ["add", "sub", "mul", "truediv", "floordiv", "mod", "pow"]
COMPARISONS = ["eq", "ne", "lt", "le", "gt", "ge"]
BITWISE = ["and_", "or_", "xor"]

LEFT, RIGHT = [7, 5, 2, 1], [2, 3, 2, 4]

both = pytest.mark.parametrize("make", [tf.constant, tf.Variable], ids=["tensor", "variable"])


def dtype_of(name, dtype):
    """The dtype of operator `name` between two tensors of `dtype`."""
    if name in COMPARISONS:
        return "bool"
    if name == "truediv" and dtype in INTS:
        return "float32" if dtype in ("int8", "int16", "uint8", "uint16") else "float64"
    return dtype


def close(result, expected):
    tolerance = {"float16": 2e-3, "float32": 1e-6}.get(result.dtype.name, 1e-12)
    np.testing.assert_allclose(result.numpy().astype("f8"), np.asarray(expected, "f8"), rtol=tolerance)


class TestTwoTensors:
    @pytest.mark.parametrize(
        "name, dtype",
        [
            (name, dtype)
            for name in ARITHMETIC + COMPARISONS
            for dtype in FLOATS + INTS
            if (name, dtype[0]) != ("pow", "u")  # no powers of unsigned integers
        ],
    )
    def test_numbers(self, name, dtype):
        function = getattr(operator, name)
        left, right = (LEFT, RIGHT) if name != "sub" else (RIGHT[1:2] + LEFT[:1], [1, 2])  # nothing below 0
        result = function(tf.constant(left, dtype), tf.constant(right, dtype))
        assert result.dtype == dtype_of(name, dtype)
        close(result, function(np.array(left, "f8"), np.array(right, "f8")))

    @pytest.mark.parametrize("dtype", INTS)
    @pytest.mark.parametrize("name", BITWISE)
    def test_bits(self, name, dtype):
        function = getattr(operator, name)
        result = function(tf.constant(LEFT, dtype), tf.constant(RIGHT, dtype))
        assert result.dtype == dtype
        assert result.numpy().tolist() == function(np.array(LEFT), np.array(RIGHT)).tolist()

    @pytest.mark.parametrize("name", [*BITWISE, "eq", "ne"])
    def test_booleans(self, name):
        function = getattr(operator, name)
        left, right = [True, True, False, False], [True, False, True, False]
        result = function(tf.constant(left), tf.constant(right))
        assert result.dtype == tf.bool
        assert result.numpy().tolist() == function(np.array(left), np.array(right)).tolist()

    @pytest.mark.parametrize("name", ["add", "sub", "mul", "truediv", "pow", "eq", "ne"])
    @pytest.mark.parametrize("dtype", ["complex64", "complex128"])
    def test_complex(self, name, dtype):
        function = getattr(operator, name)
        left, right = np.array([1 + 2j, 3 - 1j], dtype), np.array([2 - 1j, 0.5j], dtype)
        result = function(tf.constant(left), tf.constant(right))
        assert result.dtype == ("bool" if name in COMPARISONS else dtype)
        np.testing.assert_allclose(result.numpy(), function(left, right), rtol=1e-5)

    @pytest.mark.parametrize("name", ARITHMETIC + COMPARISONS)
    def test_broadcasting(self, name):
        function = getattr(operator, name)
        left, right = np.array([[1.0], [2.0], [3.0]], "f4"), np.array([2.0, 4.0], "f4")
        result = function(tf.constant(left), tf.constant(right))
        assert result.shape == [3, 2]
        close(result, function(left, right))

    @pytest.mark.parametrize("name", [*ARITHMETIC, "lt", "le", "gt", "ge", "eq", "ne"])
    @pytest.mark.parametrize(
        "left, right, first, second",
        [
            (tf.constant([1.0]), tf.constant([1]), "float", "int32"),
            (tf.constant([1.0]), tf.constant([1.0], tf.float64), "float", "double"),
            (tf.constant([1], tf.int64), tf.constant([1]), "int64", "int32"),
        ],
        ids=["float and int", "float and double", "int64 and int32"],
    )
    def test_dtypes_are_not_mixed(self, name, left, right, first, second):
        error = TypeError if name == "truediv" else tf.errors.InvalidArgumentError
        match = (
            "must have the same dtype"
            if name == "truediv"
            else rf"cannot compute \w+ as input #1\(zero-based\) was expected to be a {first} tensor but is a {second}"
        )
        with pytest.raises(error, match=match):
            getattr(operator, name)(left, right)


PYTHON_OPERANDS = {"int": 2, "float": 2.0, "list": [2, 2, 2, 2], "tuple": (2, 2, 2, 2)}
NUMPY_OPERANDS = {
    "float64 array": np.full(4, 2.0),
    "float64 scalar": np.float64(2),
    "float32 scalar": np.float32(2),
    "int64 array": np.full(4, 2),
    "int64 scalar": np.int64(2),
    "zero-dimensional array": np.array(2.0),
}


class TestOtherOperands:
    """Python numbers, lists and NumPy arrays take the dtype of the tensor that they meet."""

    @both
    @pytest.mark.parametrize("side", ["left", "right"])
    @pytest.mark.parametrize("operand", [*PYTHON_OPERANDS, *NUMPY_OPERANDS])
    @pytest.mark.parametrize("name", [*ARITHMETIC, "lt", "ge", "eq", "ne"])
    def test_meet_floats(self, name, operand, side, make):
        function, other = getattr(operator, name), (PYTHON_OPERANDS | NUMPY_OPERANDS)[operand]
        x, array = make([7.0, 5.0, 2.0, 1.0]), np.array([7.0, 5.0, 2.0, 1.0])
        result = function(x, other) if side == "left" else function(other, x)
        assert isinstance(result, tf.Tensor)
        assert result.dtype == dtype_of(name, "float32")
        close(result, function(array, np.asarray(other)) if side == "left" else function(np.asarray(other), array))

    @pytest.mark.parametrize("side", ["left", "right"])
    @pytest.mark.parametrize("operand", ["int", "list", "int64 array", "int64 scalar"])
    @pytest.mark.parametrize("name", [*ARITHMETIC, "lt", "ge", "eq", "ne"])
    def test_meet_ints(self, name, operand, side):
        function, other = getattr(operator, name), (PYTHON_OPERANDS | NUMPY_OPERANDS)[operand]
        x, array = tf.constant(LEFT), np.array(LEFT)
        result = function(x, other) if side == "left" else function(other, x)
        assert result.dtype == dtype_of(name, "int32")
        close(result, function(array, np.asarray(other)) if side == "left" else function(np.asarray(other), array))

    @pytest.mark.parametrize("dtype", [*FLOATS, "bfloat16", *INTS, "complex64", "complex128"])
    def test_a_number_takes_every_dtype(self, dtype):
        x = tf.constant([2, 4], dtype)
        for result in (x + 1, 1 + x, x * 1, 5 - x, x - 1):
            assert result.dtype == dtype
        assert (x + 1).numpy().tolist() == [3, 5]

    @pytest.mark.parametrize("dtype", [*FLOATS, "bfloat16", "complex64"])
    def test_a_float_takes_every_float_dtype(self, dtype):
        x = tf.constant([2, 4], dtype)
        for result in (x + 0.5, 0.5 + x, x * 0.5, 0.5 - x, x / 2.0, 1.0 / x):
            assert result.dtype == dtype
        assert (x * 0.5).numpy().tolist() == [1.0, 2.0]

    def test_a_float_constant_is_rounded_to_the_dtype_once(self):
        x = tf.constant([1.0], tf.float64)
        assert (x * 0.1).numpy()[0] == 0.1
        assert (tf.constant([1.0]) * 0.1).numpy()[0] == np.float32(0.1)

    def test_numpy_floats_meet_ints(self):
        assert (tf.constant([3]) * np.ones(1)).dtype == tf.int32

    def test_booleans(self):
        assert (tf.constant([1.0]) + True).numpy().tolist() == [2.0]
        assert (tf.constant([True, False]) & True).numpy().tolist() == [True, False]
        assert (False | tf.constant([True, False])).numpy().tolist() == [True, False]

    @pytest.mark.parametrize("name", ["sub", "mul", "floordiv", "mod", "pow", "lt", "ge", "eq"])
    @pytest.mark.parametrize("value", [1.5, 1.0], ids=str)
    def test_a_float_does_not_meet_an_int_tensor(self, name, value):
        with pytest.raises(TypeError, match=f"Cannot convert {value} to EagerTensor of dtype int32"):
            getattr(operator, name)(tf.constant([1, 2]), value)

    @pytest.mark.parametrize("name", ["add", "sub", "mul", "floordiv", "mod", "pow"])
    def test_a_float_does_not_meet_an_int_tensor_from_the_left(self, name):
        with pytest.raises(TypeError, match=r"Cannot convert 1.5 to EagerTensor of dtype int32"):
            getattr(operator, name)(1.5, tf.constant([1, 2]))

    @pytest.mark.parametrize("kind", [TypeError, tf.errors.InvalidArgumentError])
    def test_adding_a_float_to_an_int_tensor_is_an_error_of_two_kinds(self, kind):
        with pytest.raises(kind, match=r"cannot compute AddV2 .* expected to be a int32 tensor but is a float tensor"):
            _ = tf.constant([1, 2]) + 1.5

    def test_dividing_an_int_tensor_by_a_float(self):
        with pytest.raises(TypeError, match=r"must have the same dtype, got tf.int32 != tf.float32"):
            _ = tf.constant([1, 2]) / 1.5

    @pytest.mark.parametrize("name", ARITHMETIC)
    @pytest.mark.parametrize("value", ["a", None, {}, object()], ids=["str", "None", "dict", "object"])
    def test_what_is_no_number(self, name, value):
        errors = (TypeError, ValueError, tf.errors.InvalidArgumentError)
        with pytest.raises(errors, match=r"unsupported|Cannot convert|must have the same dtype|is a string tensor"):
            getattr(operator, name)(tf.constant([1.0]), value)


class TestUnary:
    @both
    @pytest.mark.parametrize("dtype", ["float16", "float32", "float64", "int8", "int32", "int64"])
    def test_neg_and_abs(self, make, dtype):
        x = make(np.array([3, -4, 0], dtype))
        assert (-x).numpy().tolist() == [-3, 4, 0]
        assert abs(x).numpy().tolist() == [3, 4, 0]
        assert (-x).dtype == abs(x).dtype == dtype

    def test_abs_of_complex_is_real(self):
        assert abs(tf.constant([3 + 4j], tf.complex64)).dtype == tf.float32
        assert abs(tf.constant([3 + 4j])).numpy().tolist() == [5.0]

    @both
    def test_invert(self, make):
        assert (~make([True, False])).numpy().tolist() == [False, True]
        assert (~make([7, -7])).numpy().tolist() == [-8, 6]

    @pytest.mark.better
    @both
    def test_pos(self, make):
        assert (+make([1.0, -2.0])).numpy().tolist() == [1.0, -2.0]

    def test_invert_of_floats(self):
        with pytest.raises(tf.errors.InvalidArgumentError, match="float is not in the list of allowed values"):
            _ = ~tf.constant([1.0])


class TestDivision:
    """Division, floor and remainder follow the sign rules of Python."""

    @pytest.mark.parametrize("dtype", ["int8", "int16", "int32", "int64", "float32", "float64"])
    def test_signs(self, dtype):
        left, right = np.array([7, -7, 7, -7, 6, -6], dtype), np.array([2, 2, -2, -2, 3, 3], dtype)
        x, y = tf.constant(left), tf.constant(right)
        assert (x // y).numpy().tolist() == (left // right).tolist() == [3, -4, -4, 3, 2, -2]
        assert (x % y).numpy().tolist() == (left % right).tolist() == [1, 1, -1, -1, 0, 0]
        assert tf.truncatediv(tf.cast(x, tf.int32), tf.cast(y, tf.int32)).numpy().tolist() == [3, -3, -3, 3, 2, -2]

    @pytest.mark.parametrize("operand", [3, -3, 5, -5])
    def test_by_a_number(self, operand):
        array = np.array([7, -7, 5, 0], "int32")
        assert (tf.constant(array) // operand).numpy().tolist() == (array // operand).tolist()
        assert (tf.constant(array) % operand).numpy().tolist() == (array % operand).tolist()

    def test_of_floats(self):
        x = tf.constant([5.5, -5.5, 0.3])
        assert (x // 2).numpy().tolist() == [2.0, -3.0, 0.0]
        np.testing.assert_allclose((x % 2).numpy(), [1.5, 0.5, 0.3], rtol=1e-6)
        np.testing.assert_allclose((x % -2).numpy(), [-0.5, -1.5, -1.7], rtol=1e-6)

    def test_of_floats_by_zero(self):
        x = tf.constant([1.0, -1.0, 0.0])
        np.testing.assert_array_equal((x / 0).numpy(), [np.inf, -np.inf, np.nan])
        np.testing.assert_array_equal((x / tf.zeros([3])).numpy(), [np.inf, -np.inf, np.nan])
        np.testing.assert_array_equal((x // 0).numpy(), [np.inf, -np.inf, np.nan])
        np.testing.assert_array_equal((x % 0).numpy(), [np.nan] * 3)

    def test_true_division_of_ints_by_zero_is_infinite(self):
        result = tf.constant([1, -1, 0]) / 0
        assert result.dtype == tf.float64
        np.testing.assert_array_equal(result.numpy(), [np.inf, -np.inf, np.nan])

    @pytest.mark.parametrize("dtype", INTS)
    @pytest.mark.parametrize("name", ["floordiv", "mod"])
    def test_of_ints_by_zero(self, name, dtype):
        with pytest.raises(tf.errors.InvalidArgumentError, match="Integer division by zero"):
            getattr(operator, name)(tf.constant([1, 2], dtype), tf.constant([1, 0], dtype))

    def test_large_ints_are_exact(self):
        x = tf.constant(2**62 + 1, tf.int64)
        assert (x // 3).numpy() == (2**62 + 1) // 3
        assert (x % 1000).numpy() == (2**62 + 1) % 1000

    def test_divmod_of_the_smallest_int(self):
        x = tf.constant([-(2**31)])
        assert (x % 7).numpy().tolist() == [-(2**31) % 7]
        assert (x // 7).numpy().tolist() == [-(2**31) // 7]


class TestPower:
    @pytest.mark.parametrize("exponent", [0, 1, 2, 3, -1, 0.5, -2.0, 2.5])
    @pytest.mark.parametrize("dtype", ["float32", "float64"])
    def test_of_floats(self, exponent, dtype):
        array = np.array([0.5, 1.0, 2.0, 3.0], dtype)
        result = tf.constant(array) ** exponent
        assert result.dtype == dtype
        np.testing.assert_allclose(result.numpy(), array**exponent, rtol=1e-6)

    @pytest.mark.parametrize("dtype", ["int8", "int32", "int64"])
    def test_of_ints(self, dtype):
        assert (tf.constant([2, -3, 1], dtype) ** 3).numpy().tolist() == [8, -27, 1]
        assert (2 ** tf.constant([0, 1, 5], dtype)).numpy().tolist() == [1, 2, 32]

    def test_at_the_edges(self):
        x = tf.constant([0.0, -2.0, np.inf, np.nan])
        np.testing.assert_array_equal((x**2).numpy(), [0.0, 4.0, np.inf, np.nan])
        np.testing.assert_array_equal((x**0).numpy(), [1.0, 1.0, 1.0, 1.0])
        np.testing.assert_array_equal((x**-1).numpy(), [np.inf, -0.5, 0.0, np.nan])
        np.testing.assert_array_equal((x**0.5).numpy(), [0.0, np.nan, np.inf, np.nan])
        np.testing.assert_array_equal((x**3).numpy(), [0.0, -8.0, np.inf, np.nan])

    def test_negative_integer_powers(self):
        with pytest.raises(tf.errors.InvalidArgumentError, match="Integers to negative integer powers are not allowed"):
            _ = tf.constant([2, 3]) ** -1


class TestMatmul:
    @pytest.mark.parametrize(
        "left, right",
        [
            (tf.constant([[1.0, 2.0], [3.0, 4.0]]), tf.constant([[5.0], [6.0]])),
            (tf.Variable([[1.0, 2.0], [3.0, 4.0]]), tf.constant([[5.0], [6.0]])),
            (tf.constant([[1.0, 2.0], [3.0, 4.0]]), np.array([[5.0], [6.0]])),
            (np.array([[1.0, 2.0], [3.0, 4.0]]), tf.constant([[5.0], [6.0]])),
            (tf.constant([[1.0, 2.0], [3.0, 4.0]]), [[5.0], [6.0]]),
            ([[1.0, 2.0], [3.0, 4.0]], tf.Variable([[5.0], [6.0]])),
        ],
        ids=["tensors", "variable", "array right", "array left", "list right", "list left"],
    )
    def test_operands(self, left, right):
        result = left @ right
        assert isinstance(result, tf.Tensor)
        assert result.dtype == tf.float32
        assert result.numpy().tolist() == [[17.0], [39.0]]

    @pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32", "float64", "int32", "int64", "complex64"])
    def test_dtypes(self, dtype):
        result = tf.constant([[1, 2], [3, 4]], dtype) @ tf.constant([[5], [6]], dtype)
        assert result.dtype == dtype
        assert result.numpy().tolist() == [[17], [39]]

    def test_batches(self):
        left, right = np.arange(24.0).reshape(2, 3, 4), np.arange(8.0).reshape(4, 2)
        assert (tf.constant(left) @ tf.constant(np.broadcast_to(right, (2, 4, 2)))).numpy().tolist() == (left @ right).tolist()
        assert (tf.constant(left) @ tf.constant(right[None])).numpy().tolist() == (left @ right).tolist()
        assert (tf.constant(left) @ tf.constant(right)).numpy().tolist() == (left @ right).tolist()

    def test_empty(self):
        assert (tf.zeros([2, 0]) @ tf.zeros([0, 3])).numpy().tolist() == [[0.0] * 3] * 2


class TestMoreOperators:
    @pytest.mark.better
    @pytest.mark.parametrize("dtype", ["int32", "int64", "uint8"])
    def test_shifts(self, dtype):
        x = tf.constant([1, 5, 12], dtype)
        for result, expected in [
            (x << 2, [4, 20, 48]),
            (x >> 1, [0, 2, 6]),
            (1 << tf.constant([0, 3], dtype), [1, 8]),
            (64 >> tf.constant([0, 3], dtype), [64, 8]),
            (x << tf.constant([0, 1, 2], dtype), [1, 10, 48]),
        ]:
            assert result.dtype == dtype
            assert result.numpy().tolist() == expected

    @pytest.mark.better
    def test_divmod(self):
        quotient, remainder = divmod(tf.constant([7, -7]), 2)
        assert quotient.numpy().tolist() == [3, -4]
        assert remainder.numpy().tolist() == [1, 1]

    @pytest.mark.better
    @pytest.mark.parametrize("value, digits, expected", [(2.5, None, 2.0), (-1.5, None, -2.0), (1.26, 1, 1.3)])
    def test_round(self, value, digits, expected):
        assert round(tf.constant(value), digits).numpy() == pytest.approx(expected)

    def test_augmented_assignment_makes_a_new_tensor(self):
        x = first = tf.constant([1.0, 2.0])
        x += 1.0
        x *= 2.0
        x -= [1.0, 1.0]
        x /= 3.0
        x **= 2
        assert x.numpy().tolist() == [1.0, pytest.approx((5 / 3) ** 2)]
        assert first.numpy().tolist() == [1.0, 2.0]

    def test_augmented_assignment_to_an_array_gives_a_tensor(self):
        array = np.array([1.0, 2.0], "f4")
        total = array * tf.constant([1.0, 1.0])
        assert isinstance(total, tf.Tensor)
        assert array.tolist() == [1.0, 2.0]

    @pytest.mark.parametrize(
        "statement, message",
        [
            (
                "v += 1.0",
                r"`variable \+= value` with `tf.Variable`s is not supported. Use `variable.assign_add\(value\)`",
            ),
            ("v -= 1.0", "`variable -= value` with `tf.Variable`s is not supported. Use `variable.assign_sub"),
            ("v *= 2.0", r"`var \*= value` with `tf.Variable`s is not supported. Use `var.assign\(var \* value\)`"),
            ("v /= 2.0", r"`var /= value` with `tf.Variable`s is not supported. Use `var.assign\(var / value\)`"),
            ("v **= 2.0", r"`var \*\*= value` with `tf.Variable`s is not supported"),
        ],
    )
    def test_augmented_assignment_to_a_variable(self, statement, message):
        with pytest.raises(RuntimeError, match=message):
            exec(statement, {"v": tf.Variable(1.0)})

    def test_a_variable_becomes_a_tensor(self):
        x = tf.Variable(1.0)
        x = x + 1
        assert type(x).__name__ == "EagerTensor"

    def test_integer_overflow_wraps(self):
        assert (tf.constant(127, tf.int8) + 1).numpy() == -128
        assert (tf.constant(0, tf.uint8) - 1).numpy() == 255
        assert (tf.constant(2**31 - 1) + 1).numpy() == -(2**31)


@pytest.mark.parametrize(
    "name, left, right, kind",
    [
        ("add", [True], [True], "bool"),
        ("and_", [1.0], [2.0], "float"),
        ("lt", [1j], [2j], "complex128"),
        ("lt", [True], [False], "bool"),
        ("mod", [1j], [2j], "complex128"),
    ],
)
def test_dtypes_without_the_operation(name, left, right, kind):
    with pytest.raises(
        tf.errors.InvalidArgumentError, match=f"Value for attr 'T' of {kind} is not in the list of allowed values"
    ):
        getattr(operator, name)(tf.constant(left), tf.constant(right))


@pytest.mark.parametrize(
    "left, right, expected",
    [
        ([True, False], [True, True], [True, False]),
        ([True, False], 2.5, [True, False]),
        ([2.0, 0.5], [True, True], [True, False]),  # as integers
        (True, [True, False], [True, False]),
    ],
)
def test_times_a_tensor_of_bools(left, right, expected):
    product = (tf.constant(left) if isinstance(left, list) else left) * (tf.constant(right) if isinstance(right, list) else right)
    assert product.dtype == tf.bool and product.numpy().tolist() == expected


@pytest.mark.parametrize(
    "call", [lambda: tf.maximum(1, 2.5), lambda: tf.pow([1, 2], [1.5, 2.5]), lambda: tf.where([True], 1, 2.5)]
)
def test_without_a_tensor_the_first_operand_gives_the_dtype(call):
    assert tf.multiply([1.5, 2.5], np.array([1, 2])).dtype == tf.float32
    with pytest.raises(TypeError, match="to EagerTensor of dtype int32"):
        call()


def test_integers_to_large_powers():
    powers = tf.constant([3, 0, 2, -1]) ** [300, 64, 64, 65]
    assert powers.numpy().tolist() == [-597940623, 0, 0, -1]


@pytest.mark.parametrize("wide, narrow", [("int32", "int8"), ("int64", "int32"), ("int32", "int16")])
def test_bits_of_narrowed_integers(wide, narrow):
    """Compiled as one program, XLA of jaxlib 0.10.2 ends the process."""
    x = tf.cast(tf.constant([1, 3, 511], wide), narrow)
    expected = np.array([1, 3, 511]).astype(narrow)
    for f in (operator.and_, operator.or_):
        np.testing.assert_array_equal(f(x, tf.constant([1, 2, 4], narrow)).numpy(), f(expected, np.array([1, 2, 4], narrow)))
