"""Tensors and variables as Python and NumPy see them: numbers, truth, lengths, iteration, arrays, keys."""

import copy
import math
import operator
import pickle

import ml_dtypes
import numpy as np
import pytest

import gradtape as tf

DAYS = np.array(["2020-01-01", "1970-01-03"], "datetime64[D]")
both = pytest.mark.parametrize("make", [tf.constant, tf.Variable], ids=["tensor", "variable"])


class TestNumbers:
    @both
    @pytest.mark.parametrize(
        "convert, value, expected",
        [
            (float, 3.5, 3.5),
            (float, 3, 3.0),
            (int, 3, 3),
            (int, 2.7, 2),
            (int, -2.7, -2),
            (int, True, 1),
            (complex, 1j, 1j),
            (bool, 0.0, False),
            (bool, -0.5, True),
            (bool, 0, False),
            (bool, float("nan"), True),
            (bool, True, True),
            (bool, [1.0], True),
            (bool, [[0]], False),
        ],
        ids=str,
    )
    def test_conversions(self, make, convert, value, expected):
        result = convert(make(value))
        assert result == expected
        assert type(result) is type(expected)

    @both
    @pytest.mark.parametrize("convert", [float, int], ids=["float", "int"])
    def test_a_vector_is_no_number(self, make, convert):
        with pytest.raises(TypeError, match="can be converted to Python scalars"):
            convert(make([1.0, 2.0]))

    @both
    def test_a_vector_has_no_truth(self, make):
        with pytest.raises(ValueError, match="truth value of an array with more than one element is ambiguous"):
            bool(make([1.0, 2.0]))
        with pytest.raises(ValueError, match="truth value of an array with more than one element is ambiguous"):
            assert make([True, True]) and True
        with pytest.raises(ValueError, match="truth value of an array with more than one element is ambiguous"):
            _ = not make([True, True])

    @both
    def test_what_is_empty_is_false(self, make):
        assert not make([])

    def test_truth_of_strings(self):
        assert bool(tf.constant("a"))
        assert not bool(tf.constant(""))

    def test_branches(self):
        x = tf.constant(2.0)
        assert ("yes" if x > 1 else "no") == "yes"
        count = 0
        while x < 100.0:
            x, count = x * 2.0, count + 1
        assert count == 6

    @pytest.mark.parametrize("dtype", ["int8", "int32", "int64", "uint8"])
    def test_an_integer_scalar_is_an_index(self, dtype):
        index = tf.constant(2, dtype)
        assert operator.index(index) == 2
        assert [10, 20, 30][index] == 30
        assert list(range(index)) == [0, 1]
        assert np.arange(5)[index] == 2

    def test_a_float_is_no_index(self):
        with pytest.raises((TypeError, AttributeError), match=r"index|integer"):
            _ = [10, 20][tf.constant(1.0)]

    def test_math_functions(self):
        assert math.sqrt(tf.constant(4.0)) == 2.0
        assert math.isnan(tf.constant(float("nan")))
        assert math.floor(float(tf.constant(2.5))) == 2


class TestContainer:
    def test_len(self):
        assert len(tf.zeros([3, 2])) == 3
        assert len(tf.zeros([0])) == 0

    def test_len_of_a_scalar(self):
        with pytest.raises(TypeError, match=r"Scalar tensor has no `len\(\)`"):
            len(tf.constant(1.0))

    @both
    def test_iteration(self, make):
        rows = list(make([[1, 2], [3, 4], [5, 6]]))
        assert [row.numpy().tolist() for row in rows] == [[1, 2], [3, 4], [5, 6]]
        assert all(isinstance(row, tf.Tensor) and row.dtype == tf.int32 for row in rows)

    @both
    def test_unpacking(self, make):
        first, second = make([1.0, 2.0])
        assert (first.numpy(), second.numpy()) == (1.0, 2.0)
        with pytest.raises(ValueError, match="too many values to unpack"):
            first, second = make([1.0, 2.0, 3.0])

    @both
    def test_a_scalar_is_not_iterable(self, make):
        with pytest.raises(TypeError, match="Cannot iterate over a scalar tensor"):
            iter(make(1.0))

    def test_iteration_over_nothing(self):
        assert list(tf.zeros([0, 3])) == []

    @both
    def test_builtins(self, make):
        x = make([3.0, 1.0, 2.0])
        assert max(x).numpy() == 3.0
        assert min(x).numpy() == 1.0
        assert sum(x).numpy() == 6.0
        assert [float(each) for each in sorted(x)] == [1.0, 2.0, 3.0]
        assert [float(each) for each in map(abs, x)] == [3.0, 1.0, 2.0]
        assert [(float(a), b) for a, b in zip(x, "abc", strict=True)] == [(3.0, "a"), (1.0, "b"), (2.0, "c")]

    def test_reversed(self):
        assert [int(each) for each in reversed(tf.constant([1, 2, 3]))] == [3, 2, 1]

    def test_sum_of_a_list_of_tensors(self):
        total = sum([tf.constant([1.0, 2.0]), tf.constant([3.0, 4.0])])
        assert total.numpy().tolist() == [4.0, 6.0]

    def test_membership(self):
        x = tf.constant([1, 2, 3])
        assert 2 in x
        assert 5 not in x

    def test_items_are_not_assigned(self):
        x = tf.constant([1.0, 2.0])
        with pytest.raises(TypeError, match="does not support item assignment"):
            x[0] = 5.0
        with pytest.raises(TypeError, match=r"(does not|doesn't) support item deletion"):
            del x[0]

    def test_items_of_a_variable_are_not_assigned(self):
        v = tf.Variable([1.0, 2.0])
        with pytest.raises(TypeError, match=r"does not support item assignment.*v\[i\].assign"):
            v[0] = 5.0


class TestArrays:
    @both
    @pytest.mark.parametrize("dtype", ["bool", "int8", "uint16", "int32", "int64", "float16", "float32", "float64", "complex64"])
    def test_asarray_keeps_the_dtype(self, make, dtype):
        array = np.asarray(make(np.array([0, 1]).astype(dtype)))
        assert type(array) is np.ndarray
        assert array.dtype == dtype
        np.testing.assert_array_equal(array, [0, 1])

    @both
    def test_asarray_is_the_memory_of_the_tensor_and_read_only(self, make):
        array, copied, taken = np.asarray(make([1.0, 2.0])), np.array(make([1.0, 2.0])), make([1.0, 2.0]).numpy()
        assert [a.flags.writeable for a in (array, copied, taken)] == [False, True, True]
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 5.0
        constant = tf.constant([1.0, 2.0])
        assert np.shares_memory(np.asarray(constant), np.asarray(constant))

    def test_bfloat16(self):
        array = np.asarray(tf.constant([1.5], tf.bfloat16))
        assert array.dtype == ml_dtypes.bfloat16
        assert array[0] == 1.5

    @pytest.mark.parametrize(
        "tensor, kind",
        [
            (tf.constant(1.0), np.float32),
            (tf.constant(1), np.int32),
            (tf.constant(True), np.bool_),
            (tf.constant(1j), np.complex128),
            (tf.constant("a"), bytes),
            (tf.constant(1, tf.bfloat16), ml_dtypes.bfloat16),
            (tf.constant([1.0]), np.ndarray),
            (tf.constant([1.0])[0], np.float32),
            (tf.reduce_sum([1.0, 2.0]), np.float32),
        ],
        ids=lambda value: getattr(value, "__name__", ""),
    )
    def test_the_type_of_numpy(self, tensor, kind):
        assert type(tensor.numpy()) is kind

    def test_a_variables_numpy(self):
        assert type(tf.Variable([1.0]).numpy()) is np.ndarray
        assert tf.Variable(2.0).numpy() == np.float32(2.0)

    @both
    def test_dtype_asked_for(self, make):
        assert np.array(make([1.5, 2.5]), dtype="f8").dtype == np.float64
        assert np.asarray(make([1.5, 2.5]), dtype=int).tolist() == [1, 2]

    @both
    def test_numpy_functions(self, make):
        x = make([1.0, 4.0])
        assert np.sum(x) == 5.0
        assert np.sqrt(x).tolist() == [1.0, 2.0]
        assert type(np.sqrt(x)) is np.ndarray
        assert np.stack([x, x]).shape == (2, 2)
        assert np.allclose(x, [1, 4])
        np.testing.assert_array_equal(x, [1, 4])
        assert np.add(x, 1).tolist() == [2.0, 5.0]
        assert np.max(x) == 4.0

    def test_assignment_into_an_array(self):
        array = np.zeros((2, 2))
        array[0] = tf.constant([1.0, 2.0])
        array[1, 1] = tf.constant(3.0)
        assert array.tolist() == [[1.0, 2.0], [0.0, 3.0]]

    def test_a_copy_is_the_users(self):
        tensor = tf.constant([1.0, 2.0])
        array = np.array(tensor)
        array[0] = 9.0
        assert tensor.numpy().tolist() == [1.0, 2.0]

    def test_a_list_of_tensors(self):
        assert np.array([tf.constant(1.0), tf.constant(2.0)]).tolist() == [1.0, 2.0]
        assert np.array([tf.constant([1, 2]), tf.constant([3, 4])]).shape == (2, 2)

    def test_dlpack(self):
        assert np.from_dlpack(tf.constant([1.0, 2.0]) * 2.0).tolist() == [2.0, 4.0]

    def test_tolist_of_the_array(self):
        assert tf.constant([[1, 2]]).numpy().tolist() == [[1, 2]]


class TestEquality:
    @both
    @pytest.mark.parametrize(
        "other, expected",
        [
            ([1.0, 2.0, 4.0], [True, True, False]),
            (1, [True, False, False]),
            (2.0, [False, True, False]),
            (np.array([1, 2, 3]), [True, True, True]),
            (tf.constant([3.0, 2.0, 1.0]), [False, True, False]),
            (tf.Variable([1.0, 2.0, 3.0]), [True, True, True]),
            (tf.constant([[1.0], [2.0]]), [[True, False, False], [False, True, False]]),
        ],
        ids=["list", "int", "float", "array", "tensor", "variable", "broadcast"],
    )
    def test_is_elementwise(self, make, other, expected):
        x = make([1.0, 2.0, 3.0])
        equal, unequal, reflected = x == other, x != other, other == x
        assert equal.dtype == tf.bool
        assert equal.numpy().tolist() == expected
        assert unequal.numpy().tolist() == np.logical_not(expected).tolist()
        assert reflected.numpy().tolist() == expected

    @pytest.mark.parametrize(
        "make", [tf.constant, pytest.param(tf.Variable, marks=pytest.mark.better)], ids=["tensor", "variable"]
    )
    def test_none(self, make):
        x = make([1.0, 2.0])
        assert (x == None) is False  # noqa: E711
        assert (x != None) is True  # noqa: E711
        assert x is not None

    @both
    def test_shapes_that_do_not_broadcast_are_unequal(self, make):
        x = make([1.0, 2.0, 3.0])
        assert (x == [1.0, 2.0]).numpy() == False  # noqa: E712
        assert (x != tf.constant([1.0, 2.0])).numpy() == True  # noqa: E712
        assert (x == tf.constant([1.0, 2.0])).shape == ()

    def test_nan_is_not_equal(self):
        x = tf.constant(float("nan"))
        assert not (x == x)  # noqa: SIM201
        assert x != x

    @both
    def test_dtypes_must_agree(self, make):
        with pytest.raises(
            tf.errors.InvalidArgumentError,
            match=r"cannot compute Equal as input #1\(zero-based\) was expected to be a float tensor but is a int32",
        ):
            _ = make([1.0]) == tf.constant([1])

    @both
    def test_strings_are_no_numbers(self, make):
        with pytest.raises(TypeError, match="Cannot convert 'a' to EagerTensor of dtype float"):
            _ = make([1.0]) == "a"

    def test_of_a_list_of_a_class_of_its_own(self):
        """As Keras keeps the lists that a layer has as attributes."""

        class Tracked(list):
            pass

        assert tf.constant(Tracked(["a", "b"])).numpy().tolist() == [b"a", b"b"]
        assert tf.convert_to_tensor(Tracked([Tracked([1.0]), [2.0]])).dtype == tf.float32

    def test_of_strings(self):
        assert (tf.constant(["a", "b"]) == "a").numpy().tolist() == [True, False]


class TestKeys:
    def test_a_tensor_is_no_key(self):
        with pytest.raises(TypeError, match=r"Tensor is unhashable. Instead, use tensor.ref\(\) as the key"):
            hash(tf.constant(1.0))
        with pytest.raises(TypeError, match="Tensor is unhashable"):
            _ = {tf.constant(1.0): 1}

    def test_a_variable_is_no_key(self):
        with pytest.raises(TypeError, match=r"Variable is unhashable. Instead, use variable.ref\(\) as the key"):
            hash(tf.Variable(1.0))

    @both
    def test_a_reference_is(self, make):
        x, other = make([1.0]), make([1.0])
        assert x.ref() == x.ref()
        assert hash(x.ref()) == hash(x.ref())
        assert x.ref() != other.ref()
        assert x.ref().deref() is x
        assert {x.ref(): "x", other.ref(): "other"}[other.ref()] == "other"


class TestCopies:
    def test_a_tensor_is_its_own_deep_copy_or_an_equal(self):
        x = tf.constant([1.0, 2.0]) * 2.0
        for duplicate in (copy.copy(x), copy.deepcopy(x), copy.deepcopy({"x": [x]})["x"][0]):
            assert duplicate.numpy().tolist() == [2.0, 4.0]
            assert duplicate.dtype == tf.float32

    def test_pickle(self):
        x = pickle.loads(pickle.dumps(tf.constant([1.5, 2.0], tf.bfloat16) * 2))
        assert isinstance(x, tf.Tensor)
        assert x.dtype == tf.bfloat16
        assert x.numpy().tolist() == [3.0, 4.0]

    def test_a_variables_deep_copy_is_another_variable(self):
        v = tf.Variable([1.0], name="w", trainable=False)
        duplicate = copy.deepcopy(v)
        duplicate.assign([5.0])
        assert isinstance(duplicate, tf.Variable)
        assert v.numpy().tolist() == [1.0]
        assert duplicate.numpy().tolist() == [5.0]
        assert duplicate.name == "w:0"
        assert duplicate.trainable is False

    def test_a_variable_can_be_pickled(self):
        v = pickle.loads(pickle.dumps(tf.Variable([1.0], name="w", trainable=False)))
        assert isinstance(v, tf.Variable)
        assert (v.name, v.trainable, v.numpy().tolist()) == ("w:0", False, [1.0])


class TestAttributes:
    def test_of_a_tensor(self):
        x = tf.zeros([2, 3])
        assert (x.ndim, x.dtype, x.shape) == (2, tf.float32, (2, 3))
        assert x.get_shape() == x.shape
        assert "CPU" in x.device.upper() or "GPU" in x.device.upper()

    @pytest.mark.parametrize("name", ["name", "op", "graph"])
    def test_graph_attributes_do_not_exist_eagerly(self, name):
        with pytest.raises(AttributeError, match=rf"Tensor.{name} is (undefined|not meaningful) when eager execution"):
            getattr(tf.constant(1.0), name)

    @pytest.mark.parametrize("name", ["nonsense", "mean", "item"])
    def test_what_does_not_exist(self, name):
        with pytest.raises(AttributeError, match=f"has no attribute '{name}'"):
            getattr(tf.constant(1.0), name)

    @pytest.mark.parametrize("name", ["reshape", "astype", "T", "size", "tolist"])
    def test_numpys_attributes(self, name):
        with pytest.raises(AttributeError, match=f"has no attribute '{name}'"):
            getattr(tf.constant(1.0), name)

    @pytest.mark.better
    @pytest.mark.parametrize(
        "name, instead",
        [
            ("reshape", "tf.reshape"), ("astype", "tf.cast"), ("T", "tf.transpose"), ("mean", "tf.reduce_mean"),
            ("backward", "tape.gradient"), ("detach", "tf.stop_gradient"), ("unsqueeze", "tf.expand_dims"),
        ],
    )  # fmt: skip
    @pytest.mark.parametrize("made", [tf.constant, tf.Variable])
    def test_other_libraries_attributes_say_what_to_write_instead(self, made, name, instead):
        x = made(1.0)
        assert name not in dir(x)
        with pytest.raises(AttributeError, match=f"has no attribute '{name}'.*{instead}"):
            getattr(x, name)

    @pytest.mark.better
    @pytest.mark.parametrize(
        ("call", "nearest"),
        [(lambda x: tf.reduce_sum(x, dim=0), "axis"), (lambda x: tf.matmul(x, x, transposed_b=True), "transpose_b")],
    )
    def test_a_keyword_that_a_function_lacks_names_the_nearest(self, call, nearest):
        with pytest.raises(TypeError, match=f"unexpected keyword argument '.*'. Did you mean '{nearest}'"):
            call(tf.ones([2, 2]))

    @pytest.mark.parametrize("name", ["shape", "dtype", "ndim"])
    def test_cannot_be_set(self, name):
        with pytest.raises(AttributeError, match=f"(can't|has no|read-only|object attribute).*{name}|{name}.*(setter|read-only)"):
            setattr(tf.constant(1.0), name, None)

    def test_eval_names_numpy(self):
        with pytest.raises(NotImplementedError, match=r"eval is not supported when eager execution is enabled.*numpy\(\)"):
            tf.constant(1.0).eval()


def test_executing_eagerly():
    assert tf.executing_eagerly() is True


def test_a_value_that_gives_itself_as_a_tensor_is_an_array():
    class Foreign:
        """As TensorFlow's tensors are: their `__tf_tensor__` is the identity, and refuses dtypes of other libraries."""

        def __tf_tensor__(self, dtype=None, name=None):
            if dtype is not None:
                raise ValueError(f"Tensor conversion requested dtype {dtype.name} for Tensor with dtype float32")
            return self

        def __array__(self, dtype=None, copy=None):
            return np.array([1.0, 2.0], "float32")

    x = tf.convert_to_tensor(Foreign())
    assert x.dtype == tf.float32
    assert x.numpy().tolist() == [1.0, 2.0]
    total = tf.concat([tf.constant([3.0], "float64"), Foreign()], 0) * tf.constant(2.0, "float64")
    assert total.numpy().tolist() == [6.0, 2.0, 4.0]


# What TensorFlow 2.21 makes of Python values in eager code, and in a function: a dtype, or an exception.
BY_PLACE = [
    ([True, 1], ValueError, "int32"),
    ([True, 1.5], ValueError, "float32"),
    ([1, 1j], ValueError, "complex128"),
    ([np.float64(1), 2.5], "float64", "float32"),
    ([np.float16(1), np.float32(2)], "float16", "float32"),
    (2**63, ValueError, "uint64"),
    (2**64, ValueError, TypeError),
    ([2**63, 1], ValueError, "float32"),
    (1e39, ValueError, "float32"),
    ([1, "a"], ValueError, TypeError),
    ([None, 1], ValueError, TypeError),
    (None, ValueError, ValueError),
    ({1: 2}, ValueError, TypeError),
    ([[1], [1, 2]], ValueError, ValueError),
    (np.array([1, None]), ValueError, TypeError),
    (np.array([1], np.longdouble), ValueError, TypeError),
    ([tf.constant(1), tf.constant(2.5)], tf.errors.InvalidArgumentError, TypeError),
]


@pytest.mark.parametrize("value, eager, traced", BY_PLACE, ids=[str(value)[:30] for value, *_ in BY_PLACE])
def test_a_function_has_numpys_rules_for_constants(value, eager, traced):
    found = []

    def answer():
        found.append(tf.convert_to_tensor(value).dtype.name)

    for make, expected in ((answer, eager), (tf.function(answer), traced)):
        if isinstance(expected, str):
            make()
            assert found.pop() == expected
        else:
            with pytest.raises(expected) as caught:
                make()
            assert type(caught.value).__name__ == expected.__name__


def test_no_constant_of_a_functions_tensors():
    x = tf.constant([1.0, 2.0])
    assert tf.function(lambda: tf.constant(x))().shape == [2]
    for make in (tf.constant, lambda y: tf.constant([y, y])):
        with pytest.raises(TypeError, match="Expected any non-tensor type, but got a tensor instead"):
            tf.function(make)(x)


@pytest.mark.parametrize("kind", [int, complex, str])
def test_python_types_that_are_no_dtype(kind):
    with pytest.raises(TypeError, match="Cannot convert the argument `type_value`"):
        tf.as_dtype(kind)


@pytest.mark.parametrize("dtype", [tf.int32, tf.int64, tf.float32])
@pytest.mark.parametrize(
    "make", [tf.constant, tf.convert_to_tensor, lambda x, dtype: tf.function(lambda: tf.constant(x, dtype))()]
)
def test_dates_and_spans_of_time_are_numbers_where_a_dtype_is_given(make, dtype):
    assert make(DAYS, dtype).numpy().tolist() == [18262, 2]
    assert tf.constant(np.timedelta64(3, "D"), dtype).numpy() == 3


def test_dates_without_a_dtype_are_no_tensor():
    with pytest.raises(ValueError, match="Unsupported numpy type: datetime64"):
        tf.constant(DAYS)
