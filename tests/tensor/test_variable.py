"""`Variable`: creation, assignment, scatters, assignment to slices."""

import abc
import copy
import pickle

import numpy as np
import pytest

import gradtape as tf


class TestCreation:
    @pytest.mark.parametrize(
        "make, dtype, value",
        [
            (lambda: tf.Variable(1.0), "float32", 1.0),
            (lambda: tf.Variable(1, dtype=tf.float64), "float64", 1.0),
            (lambda: tf.Variable(1, dtype="float16"), "float16", 1.0),
            (lambda: tf.Variable(np.ones(2)), "float64", [1.0, 1.0]),
            (lambda: tf.Variable(np.ones(2), dtype=tf.float32), "float32", [1.0, 1.0]),
            (lambda: tf.Variable(tf.constant([1, 2], tf.int8)), "int8", [1, 2]),
            (lambda: tf.Variable(tf.constant([1.0]) * 3.0), "float32", [3.0]),
            (lambda: tf.Variable(tf.Variable(2.0)), "float32", 2.0),
            (lambda: tf.Variable(lambda: tf.ones([2])), "float32", [1.0, 1.0]),
            (lambda: tf.Variable(initial_value=lambda: 3, dtype=tf.float32), "float32", 3.0),
            (lambda: tf.Variable(True), "bool", True),
            (lambda: tf.Variable(1 + 1j), "complex128", 1 + 1j),
            (lambda: tf.Variable([]), "float32", []),
            (lambda: tf.Variable([1.0, 2.0], shape=[None]), "float32", [1.0, 2.0]),
        ],
    )
    def test_values(self, make, dtype, value):
        variable = make()
        assert variable.dtype == dtype
        assert variable.numpy().tolist() == value

    def test_a_string(self):
        assert tf.Variable("a").numpy() == b"a"

    def test_defaults(self):
        variable = tf.Variable([1.0, 2.0])
        assert variable.name == "Variable:0"
        assert variable.trainable is True
        assert variable.shape == [2]
        assert variable.get_shape() == [2]
        assert variable.constraint is None
        assert bool(variable.is_initialized())

    def test_integer_variables_are_trainable_unless_said_otherwise(self):
        assert tf.Variable(1).trainable is True
        assert tf.Variable(1, trainable=False).trainable is False
        assert tf.Variable(1, trainable=None).trainable is True

    @pytest.mark.parametrize("name", ["w", "a b", "layer/kernel", "x_1"])
    def test_names(self, name):
        assert tf.Variable(1.0, name=name).name == f"{name}:0"

    def test_names_are_not_made_unique(self):
        assert tf.Variable(1.0, name="w").name == tf.Variable(2.0, name="w").name == "w:0"

    def test_names_are_scoped(self):
        with tf.name_scope("outer"), tf.name_scope("inner"):
            assert tf.Variable(1.0, name="w").name == "outer/inner/w:0"
        assert tf.Variable(1.0, name="w").name == "w:0"

    def test_a_constraint_is_kept(self):
        constraint = tf.abs
        assert tf.Variable(1.0, constraint=constraint).constraint is constraint

    def test_is_a_copy(self):
        first = tf.Variable([1.0])
        second = tf.Variable(first)
        second.assign([2.0])
        assert first.numpy().tolist() == [1.0]

    @pytest.mark.parametrize(
        "make, error, message",
        [
            (lambda: tf.Variable(), ValueError, "`initial_value` .* must be specified"),
            (lambda: tf.Variable(None), ValueError, "`initial_value` .* must be specified"),
            (lambda: tf.Variable([1, "a"]), ValueError, "mixed types"),
            (lambda: tf.Variable([[1.0], [1.0, 2.0]]), ValueError, "non-rectangular"),
            (
                lambda: tf.Variable(tf.constant(1.0), dtype=tf.float64),
                ValueError,
                "requested dtype float64 for Tensor with dtype float32",
            ),
            (lambda: tf.Variable(1.5, dtype=tf.int32), TypeError, "Cannot convert 1.5 to EagerTensor of dtype int32"),
            (lambda: tf.Variable(1.0, dtype="nope"), TypeError, "'nope' to a TensorFlow DType"),
            (
                lambda: tf.Variable([1.0, 2.0], shape=[3]),
                ValueError,
                r"initial value's shape \(\(2,\)\) is not compatible with .* `shape` argument",
            ),
            (lambda: tf.Variable(1.0, name=3), ValueError, "name .*must be a string"),
        ],
    )
    def test_errors(self, make, error, message):
        with pytest.raises(error, match=message):
            make()


class TestAssign:
    @pytest.mark.parametrize(
        "value",
        [
            [3.0, 4.0],
            (3, 4),
            np.array([3.0, 4.0]),
            np.array([3, 4]),
            tf.constant([3.0, 4.0]),
            tf.Variable([3.0, 4.0]),
        ],
        ids=["list", "tuple", "float64 array", "int array", "tensor", "variable"],
    )
    def test_values(self, value):
        variable = tf.Variable([1.0, 2.0])
        variable.assign(value)
        assert variable.numpy().tolist() == [3.0, 4.0]
        assert variable.dtype == tf.float32
        variable.assign_add(value)
        assert variable.numpy().tolist() == [6.0, 8.0]
        variable.assign_sub(value)
        assert variable.numpy().tolist() == [3.0, 4.0]

    def test_identity_and_name_stay(self):
        variable = tf.Variable([1.0], name="w", trainable=False)
        key = variable.ref()
        variable.assign([2.0])
        assert (variable.name, variable.trainable, variable.ref() == key) == ("w:0", False, True)

    def test_the_result_has_the_new_value(self):
        variable = tf.Variable(1.0)
        assert variable.assign(2.0).numpy() == 2.0
        assert variable.assign_add(3.0).numpy() == 5.0
        assert (variable.assign_sub(1.0) * 2.0).numpy() == 8.0
        assert variable.assign_add(1.0).assign_add(1.0).numpy() == 6.0
        assert variable.numpy() == 6.0

    def test_read_value_false_returns_nothing(self):
        variable = tf.Variable(1.0)
        assert variable.assign(2.0, read_value=False) is None
        assert variable.assign_add(2.0, read_value=False) is None
        assert variable.assign_sub(1.0, read_value=False) is None
        assert variable.numpy() == 3.0

    def test_of_an_expression_of_itself(self):
        variable = tf.Variable([1.0, 2.0])
        for _ in range(3):
            variable.assign(variable * 2.0 + 1.0)
        assert variable.numpy().tolist() == [15.0, 23.0]

    def test_swap(self):
        a, b = tf.Variable(1.0), tf.Variable(2.0)
        old = a.read_value()
        a.assign(b)
        b.assign(old)
        assert (a.numpy(), b.numpy()) == (2.0, 1.0)

    @pytest.mark.parametrize("dtype", ["bool", "int8", "int64", "uint8", "float16", "float64", "complex64", "bfloat16"])
    def test_every_dtype(self, dtype):
        variable = tf.Variable(tf.zeros([2], dtype))
        variable.assign([True, False] if dtype == "bool" else [1, 0])
        assert variable.dtype == dtype
        assert variable.numpy().tolist() == [1, 0]

    def test_a_variable_of_unknown_extent_takes_any(self):
        variable = tf.Variable([1.0, 2.0], shape=[None])
        variable.assign([3.0])
        assert variable.numpy().tolist() == [3.0]
        assert variable.shape.as_list() == [None]
        with pytest.raises(ValueError, match="Shape mismatch"):
            variable.assign([[1.0]])

    @pytest.mark.parametrize(
        "assign, error, message",
        [
            (
                lambda v: v.assign(1.0),
                ValueError,
                r"Cannot assign value to variable ' ?w:0': Shape mismatch.*\(3, 2\).*assigned value shape \(\)",
            ),
            (
                lambda v: v.assign(tf.zeros([2, 3])),
                ValueError,
                r"Shape mismatch.*variable shape \(3, 2\).*value shape \(2, 3\) are incompatible",
            ),
            (lambda v: v.assign(np.zeros([4])), ValueError, r"Shape mismatch.*\(3, 2\).*\(4,\)"),
            (
                lambda v: v.assign_add(1.0),
                (ValueError, tf.errors.InvalidArgumentError),
                r"[Cc]annot update variable with shape \[3, ?2\] using a Tensor with shape \[\]",
            ),
            (
                lambda v: v.assign_sub(tf.ones([2])),
                (ValueError, tf.errors.InvalidArgumentError),
                r"[Cc]annot update variable with shape \[3, ?2\] using a Tensor with shape \[2\]",
            ),
            (
                lambda v: v.assign(tf.zeros([3, 2], tf.float64)),
                ValueError,
                "requested dtype float32 for Tensor with dtype float64",
            ),
            (
                lambda v: v.assign_add(tf.zeros([3, 2], tf.int32)),
                ValueError,
                "requested dtype float32 for Tensor with dtype int32",
            ),
            (lambda v: v.assign("a"), TypeError, "Cannot convert 'a' to EagerTensor of dtype float"),
            (lambda v: v.assign(None), ValueError, "unsupported type"),
        ],
    )
    def test_errors_leave_the_variable_alone(self, assign, error, message):
        variable = tf.Variable(tf.ones([3, 2]), name="w")
        with pytest.raises(error, match=message):
            assign(variable)
        assert variable.numpy().tolist() == [[1.0, 1.0]] * 3

    def test_a_float_is_not_assigned_to_an_int(self):
        with pytest.raises(TypeError, match=r"Cannot convert 2.5 to EagerTensor of dtype int32"):
            tf.Variable(3).assign(2.5)
        with pytest.raises(TypeError, match=r"Cannot convert 2.5 to EagerTensor of dtype int32"):
            tf.Variable(3).assign_add(2.5)

    @pytest.mark.parametrize("name", ["name", "shape", "dtype", "trainable"])
    def test_attributes_are_not_assigned(self, name):
        with pytest.raises(AttributeError, match=f"{name}.*no setter|can't set|read-only"):
            setattr(tf.Variable(1.0), name, None)

    def test_set_shape(self):
        variable = tf.Variable([1.0, 2.0])
        variable.set_shape([2])
        with pytest.raises(ValueError, match=r"\(2,\) and \(3,\) are not compatible"):
            variable.set_shape([3])


class TestReading:
    @pytest.mark.parametrize(
        "read",
        [
            lambda v: v.read_value(),
            lambda v: v.value(),
            lambda v: tf.identity(v),
            lambda v: tf.convert_to_tensor(v),
            lambda v: v + 0.0,
            lambda v: v[...],
        ],
        ids=["read_value", "value", "identity", "convert", "add", "index"],
    )
    def test_gives_a_tensor_of_that_moment(self, read):
        variable = tf.Variable([1.0, 2.0])
        tensor = read(variable)
        variable.assign([3.0, 4.0])
        assert type(tensor).__name__ == "EagerTensor"
        assert tensor.numpy().tolist() == [1.0, 2.0]

    def test_sparse_reads(self):
        variable = tf.Variable([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]])
        assert variable.sparse_read([2, 0]).numpy().tolist() == [[5.0, 6.0], [1.0, 2.0]]
        assert variable.gather_nd([[0, 1], [2, 0]]).numpy().tolist() == [2.0, 5.0]
        assert tf.gather(variable, [1]).numpy().tolist() == [[3.0, 4.0]]


MATRIX = [[0.0, 1.0, 2.0, 3.0], [4.0, 5.0, 6.0, 7.0], [8.0, 9.0, 10.0, 11.0]]


def slices(values, indices):
    return tf.IndexedSlices(tf.constant(values), tf.constant(indices))


class TestScatter:
    @pytest.mark.parametrize(
        "scatter, row",
        [
            (lambda v: v.scatter_update(slices([[9.0] * 4], [1])), [9.0, 9.0, 9.0, 9.0]),
            (lambda v: v.scatter_add(slices([[1.0] * 4], [1])), [5.0, 6.0, 7.0, 8.0]),
            (lambda v: v.scatter_add(slices([[1.0] * 4, [2.0] * 4], [1, 1])), [7.0, 8.0, 9.0, 10.0]),
            (lambda v: v.scatter_sub(slices([[1.0] * 4], [1])), [3.0, 4.0, 5.0, 6.0]),
            (lambda v: v.scatter_mul(slices([[2.0] * 4], [1])), [8.0, 10.0, 12.0, 14.0]),
            (lambda v: v.scatter_div(slices([[2.0] * 4], [1])), [2.0, 2.5, 3.0, 3.5]),
            (lambda v: v.scatter_max(slices([[6.0] * 4], [1])), [6.0, 6.0, 6.0, 7.0]),
            (lambda v: v.scatter_min(slices([[6.0] * 4], [1])), [4.0, 5.0, 6.0, 6.0]),
            (lambda v: v.scatter_nd_update([[1]], [[9.0] * 4]), [9.0, 9.0, 9.0, 9.0]),
            (lambda v: v.scatter_nd_update([[1, 0], [1, 3]], [9.0, 8.0]), [9.0, 5.0, 6.0, 8.0]),
            (lambda v: v.scatter_nd_add([[1, 0], [1, 0]], [1.0, 2.0]), [7.0, 5.0, 6.0, 7.0]),
            (lambda v: v.scatter_nd_sub([[1, 0], [1, 1]], [1.0, 2.0]), [3.0, 3.0, 6.0, 7.0]),
            (lambda v: v.scatter_nd_max([[1, 0]], [6.0]), [6.0, 5.0, 6.0, 7.0]),
            (lambda v: v.scatter_nd_min([[1, 3]], [6.0]), [4.0, 5.0, 6.0, 6.0]),
        ],
    )
    def test_changes_the_named_rows_only(self, scatter, row):
        variable = tf.Variable(MATRIX)
        result = scatter(variable)
        assert variable.numpy().tolist() == [MATRIX[0], row, MATRIX[2]]
        assert result.numpy().tolist() == variable.numpy().tolist()

    def test_in_the_order_of_the_indices(self):
        variable = tf.Variable(MATRIX)
        variable.scatter_update(slices([[1.0] * 4, [2.0] * 4], [2, 0]))
        assert variable.numpy().tolist() == [[2.0] * 4, MATRIX[1], [1.0] * 4]

    def test_batched(self):
        variable = tf.Variable(MATRIX)
        variable.batch_scatter_update(slices([[-1.0], [-2.0], [-3.0]], [[0], [1], [3]]))
        assert variable.numpy().tolist() == [
            [-1.0, 1.0, 2.0, 3.0],
            [4.0, -2.0, 6.0, 7.0],
            [8.0, 9.0, 10.0, -3.0],
        ]

    @pytest.mark.parametrize(
        "scatter, error, message",
        [
            (lambda v: v.scatter_add(tf.ones([1, 4])), TypeError, "`sparse_delta` must be a `tf.IndexedSlices`"),
            (
                lambda v: v.scatter_add(slices([[1.0] * 4], [9])),
                tf.errors.InvalidArgumentError,
                r"indices\[0\] = 9 is not in \[0, 3\)",
            ),
            (
                lambda v: v.scatter_update(slices([[1.0] * 4], [-1])),
                tf.errors.InvalidArgumentError,
                r"indices\[0\] = -1 is not in \[0, 3\)",
            ),
            (
                lambda v: v.scatter_nd_update([[5, 0]], [1.0]),
                tf.errors.InvalidArgumentError,
                r"indices\[0\] = \[5, 0\] does not index into shape \[3,4\]",
            ),
            (
                lambda v: v.scatter_nd_add([[0, 0]], [1.0, 2.0]),
                tf.errors.InvalidArgumentError,
                r"indices.*must match.*updates",
            ),
        ],
    )
    def test_errors(self, scatter, error, message):
        variable = tf.Variable(MATRIX)
        with pytest.raises(error, match=message):
            scatter(variable)
        assert variable.numpy().tolist() == MATRIX


class TestAssignToSlices:
    @pytest.mark.parametrize(
        "index, value",
        [
            (0, [9.0, 8.0, 7.0, 6.0]),
            (-1, [9.0, 8.0, 7.0, 6.0]),
            ((1, 2), 5.0),
            ((slice(None), 1), [1.0, 2.0, 3.0]),
            (slice(0, 2), [[1.0] * 4, [2.0] * 4]),
            ((slice(None, None, 2), slice(None, None, 2)), [[9.0, 8.0], [7.0, 6.0]]),
            ((slice(None, None, -1), 0), [1.0, 2.0, 3.0]),
            ((..., -1), [1.0, 2.0, 3.0]),
            (..., [[1.0] * 4] * 3),
            (slice(0, 2), 7.0),
            ((slice(None), slice(1, 3)), [5.0, 6.0]),
            ((slice(1, 1)), np.zeros((0, 4))),
        ],
        ids=repr,
    )
    def test_as_numpy(self, index, value):
        variable, array = tf.Variable(MATRIX), np.array(MATRIX)
        result = variable[index].assign(value)
        array[index] = value
        assert variable.numpy().tolist() == array.tolist()
        assert result.numpy().tolist() == array.tolist()

    def test_a_tensor_as_the_index(self):
        variable = tf.Variable([1.0, 2.0, 3.0])
        for i in tf.range(3):
            variable[i].assign(tf.cast(i, tf.float32) * 10.0)
        assert variable.numpy().tolist() == [0.0, 10.0, 20.0]

    def test_ints(self):
        variable = tf.Variable([1, 2, 3])
        variable[1].assign(9)
        assert variable.numpy().tolist() == [1, 9, 3]

    def test_a_value_read_before_stays(self):
        variable = tf.Variable([1.0, 2.0])
        before = variable.read_value()
        variable[0].assign(9.0)
        assert before.numpy().tolist() == [1.0, 2.0]

    @pytest.mark.parametrize(
        "assign, error, message",
        [
            (
                lambda v: v[0:2].assign(tf.ones([3, 4])),
                (ValueError, tf.errors.InvalidArgumentError),
                r"shape \[3,4\] into .*shape \[2,4\]",
            ),
            (
                lambda v: v[5].assign(tf.ones([4])),
                tf.errors.InvalidArgumentError,
                "slice index 5 of dimension 0 out of bounds",
            ),
            (
                lambda v: v[0].assign(tf.ones([4], tf.float64)),
                (TypeError, ValueError, tf.errors.InvalidArgumentError),
                "float64|double",
            ),
        ],
    )
    def test_errors(self, assign, error, message):
        variable = tf.Variable(MATRIX)
        with pytest.raises(error, match=message):
            assign(variable)
        assert variable.numpy().tolist() == MATRIX

    def test_a_slice_of_a_tensor_is_not_assigned(self):
        with pytest.raises((AttributeError, ValueError), match="assign"):
            tf.constant([1.0, 2.0])[0].assign(3.0)


class TestIndexedSlices:
    def test_attributes(self):
        sparse = tf.IndexedSlices(tf.constant([[1.0, 2.0]]), tf.constant([2]), tf.constant([3, 2]))
        assert sparse.values.numpy().tolist() == [[1.0, 2.0]]
        assert sparse.indices.numpy().tolist() == [2]
        assert sparse.dense_shape.numpy().tolist() == [3, 2]
        assert sparse.dtype == tf.float32
        assert sparse.shape == [3, 2]

    def test_is_made_dense(self):
        sparse = tf.IndexedSlices(tf.constant([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]]), tf.constant([2, 0, 2]), tf.constant([3, 2]))
        assert tf.convert_to_tensor(sparse).numpy().tolist() == [[3.0, 4.0], [0.0, 0.0], [6.0, 8.0]]
        assert tf.reduce_sum(sparse).numpy() == 21.0

    def test_negation(self):
        sparse = -tf.IndexedSlices(tf.constant([[1.0]]), tf.constant([0]), tf.constant([1, 1]))
        assert tf.convert_to_tensor(sparse).numpy().tolist() == [[-1.0]]

    def test_without_a_dense_shape(self):
        sparse = tf.IndexedSlices(tf.constant([[1.0]]), tf.constant([0]))
        assert sparse.dense_shape is None
        with pytest.raises(ValueError, match=r"IndexedSlices .*without dense_shape"):
            tf.convert_to_tensor(sparse)


class TestWhatAssignmentsReturn:
    """Another object for the same variable, as in TensorFlow, whose answers stand here."""

    def test_its_name_and_what_it_prints(self):
        v = tf.Variable([1.0, 2.0], name="w")
        for returned in (v.assign([3.0, 4.0]), v.assign_add([0.0, 0.0]), v.assign_sub(tf.zeros([2]))):
            said = "<tf.Variable 'UnreadVariable' shape=(2,) dtype=float32, numpy=array([3., 4.], dtype=float32)>"
            assert repr(returned) == str(returned) == said
            assert isinstance(returned, tf.Variable) and returned is not v and returned.name == "UnreadVariable"
            assert (returned.dtype, returned.shape, returned.trainable) == (v.dtype, v.shape, True)
        assert repr(v.scatter_add(tf.IndexedSlices([1.0], [0]))).startswith("<tf.Variable 'UnreadVariable' shape=(2,)")
        assert v.assign([1.0, 1.0], read_value=False) is None
        assert repr(v).startswith("<tf.Variable 'w:0'")

    def test_it_shares_the_state(self):
        v = tf.Variable([1.0, 2.0])
        returned = v.assign([3.0, 4.0])
        v.assign([5.0, 6.0])
        assert returned.numpy().tolist() == (returned + 0.0).numpy().tolist() == returned.value().numpy().tolist() == [5.0, 6.0]
        assert returned.assign_add([1.0, 1.0]).assign_sub([0.5, 0.5]).numpy().tolist() == v.numpy().tolist() == [5.5, 6.5]
        returned[0].assign(9.0)
        assert v.numpy().tolist() == [9.0, 6.5] and returned.ref() != v.ref()
        assert int(tf.Variable(1).assign_add(1)) == 2 and float(tf.Variable(1.0).assign(2.0)) == 2.0

    def test_gradients_are_the_variables(self):
        v = tf.Variable([1.0, 2.0])
        with tf.GradientTape(persistent=True) as tape:
            returned = v.assign([2.0, 3.0])
            y = returned * returned
        assert tape.gradient(y, v).numpy().tolist() == tape.gradient(y, returned).numpy().tolist() == [4.0, 6.0]
        assert tape.watched_variables() == (v,)

    def test_in_a_function(self):
        v, seen = tf.Variable([1.0, 2.0]), []

        @tf.function
        def f():
            returned = v.assign_add([1.0, 1.0])
            seen.append(repr(returned))
            first = returned + 0.0
            v.assign([10.0, 10.0])
            return returned, first, returned.read_value()

        last, first, read = f()
        assert seen == ["<tf.Variable 'UnreadVariable' shape=(2,) dtype=float32>"]
        assert (last.numpy().tolist(), first.numpy().tolist(), read.numpy().tolist()) == ([10.0, 10.0], [2.0, 3.0], [10.0, 10.0])
        chained = tf.function(lambda: v.assign([0.0, 0.0]).assign_add([2.0, 1.0]) * 2.0)()
        assert chained.numpy().tolist() == [4.0, 2.0]

    def test_as_an_argument_and_a_copy(self):
        v = tf.Variable([1.0, 2.0])
        returned = v.assign([3.0, 4.0])
        tf.function(lambda x: x.assign_add([1.0, 1.0]))(returned)
        assert v.numpy().tolist() == [4.0, 5.0]
        assert copy.copy(returned) is returned
        assert pickle.loads(pickle.dumps(returned)).numpy().tolist() == copy.deepcopy(returned).numpy().tolist() == [4.0, 5.0]


def test_a_derived_class_may_have_an_abstract_one_beside_it():
    class Named(abc.ABC):
        @abc.abstractmethod
        def called(self): ...

    class Mine(tf.Variable, Named):
        def called(self):
            return "mine"

    class Open(tf.Variable, Named):
        pass

    v = Mine(2.0)
    assert isinstance(v, Named) and isinstance(v, tf.Variable) and v.called() == "mine" and v.assign_add(1.0).numpy() == 3
    with pytest.raises(TypeError, match=r"abstract method '?called"):
        Open(1.0)


def test_a_single_element_is_assigned_to_a_scalar_slice():
    v = tf.Variable([[1.0, 2.0], [3.0, 4.0]])
    v[0, 0].assign([9.0])
    v[1, 1].assign([[8.0]])
    assert v.numpy().tolist() == [[9.0, 2.0], [3.0, 8.0]]
    with pytest.raises(tf.errors.InvalidArgumentError, match="Cannot assign a value of shape"):
        v[0, 0].assign([1.0, 2.0])
