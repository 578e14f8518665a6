"""`TensorShape` and `TensorSpec`."""

import numpy as np
import pytest

import gradtape as tf

Shape = tf.TensorShape


@pytest.mark.parametrize(
    "dimensions, expected",
    [
        ([2, 3], [2, 3]),
        ((2, 3), [2, 3]),
        ([], []),
        (3, [3]),
        ([None, 3], [None, 3]),
        (Shape([2, None]), [2, None]),
        ([np.int64(3)], [3]),
        (np.array([2, 3]), [2, 3]),
        (tf.constant([2, 3]), [2, 3]),
        (range(3), [0, 1, 2]),
    ],
    ids=repr,
)
def test_construction(dimensions, expected):
    assert Shape(dimensions).as_list() == expected


@pytest.mark.parametrize(
    "dimensions, error, message",
    [
        ([-1, 2], ValueError, "Dimension -1 must be >= 0"),
        ([2.5], TypeError, "Dimension value must be integer or None.*2.5"),
        (["a"], TypeError, "Dimension value must be integer or None.*'a'"),
    ],
    ids=repr,
)
def test_bad_dimensions(dimensions, error, message):
    with pytest.raises(error, match=message):
        Shape(dimensions)


class TestOfATensor:
    def test_is_a_tensor_shape(self):
        shape = tf.zeros([2, 3]).shape
        assert isinstance(shape, Shape)
        assert shape == tf.zeros([2, 3]).get_shape()
        assert shape == tf.Variable(tf.zeros([2, 3])).shape

    def test_behaves_as_a_tuple(self):
        shape = tf.zeros([2, 3]).shape
        assert tuple(shape) == (2, 3)
        assert list(shape) == [2, 3]
        assert [*shape, 4] == [2, 3, 4]
        assert len(shape) == 2
        assert shape[0] * 2 == 4
        assert type(shape[0]) is int
        assert 3 in shape
        assert (5, *shape) == (5, 2, 3)
        rows, columns = shape
        assert (rows, columns) == (2, 3)
        assert f"{shape}" == "(2, 3)"
        assert max(shape) == 3

    def test_numpy_takes_it(self):
        shape = tf.zeros([2, 3]).shape
        assert np.prod(shape) == 6
        assert np.zeros(shape).shape == (2, 3)
        assert np.array(shape).tolist() == [2, 3]

    def test_ops_take_it(self):
        shape = tf.zeros([2, 3]).shape
        assert tf.reshape(tf.zeros([6]), shape).shape == shape
        assert tf.zeros(shape).shape == shape
        assert tf.constant(shape).numpy().tolist() == [2, 3]
        assert tf.constant(shape).dtype == tf.int32

    def test_is_known_for_results(self):
        assert (tf.zeros([2, 1]) + tf.zeros([3])).shape == [2, 3]
        assert (tf.zeros([4, 2]) @ tf.zeros([2, 5])).shape == [4, 5]
        assert tf.reduce_sum(tf.zeros([2, 3]), axis=1).shape == [2]


@pytest.mark.parametrize(
    "shape, other, equal",
    [
        (Shape([2, 3]), Shape([2, 3]), True),
        (Shape([2, 3]), [2, 3], True),
        (Shape([2, 3]), (2, 3), True),
        (Shape([2, 3]), (3, 2), False),
        (Shape([2, 3]), (2,), False),
        (Shape([2]), 2, True),
        (Shape([]), (), True),
        (Shape([2, None]), Shape([2, None]), True),
        (Shape([2, None]), Shape([2, 3]), False),
        (Shape(None), Shape(None), True),
        (Shape(None), None, True),
        (Shape([2]), None, False),
        (Shape([2]), "a", False),
    ],
    ids=repr,
)
def test_equality(shape, other, equal):
    assert (shape == other) is equal
    assert (shape != other) is not equal
    assert (other == shape) is equal


def test_hash():
    assert hash(Shape([2, 3])) == hash(Shape([2, 3]))
    assert {Shape([2, 3]): "found"}[Shape((2, 3))] == "found"


@pytest.mark.parametrize(
    "expression, expected",
    [
        (lambda shape: shape[0], 2),
        (lambda shape: shape[-1], 4),
        (lambda shape: shape[1:], Shape([3, 4])),
        (lambda shape: shape[:-1], Shape([2, 3])),
        (lambda shape: shape[::2], Shape([2, 4])),
        (lambda shape: shape[5:], Shape([])),
        (lambda shape: shape + [5], Shape([2, 3, 4, 5])),
        (lambda shape: shape + (5,), Shape([2, 3, 4, 5])),
        (lambda shape: [5] + shape, Shape([5, 2, 3, 4])),
        (lambda shape: (5,) + shape, Shape([5, 2, 3, 4])),
        (lambda shape: shape[:1] + shape[2:], Shape([2, 4])),
        (lambda shape: shape.concatenate([5]), Shape([2, 3, 4, 5])),
        (lambda shape: shape.concatenate(Shape(None)), Shape(None)),
        (lambda shape: shape.concatenate([None]), Shape([2, 3, 4, None])),
        (lambda shape: shape.as_list(), [2, 3, 4]),
        (lambda shape: shape.rank, 3),
        (lambda shape: shape.ndims, 3),
        (lambda shape: shape.num_elements(), 24),
        (lambda shape: shape.is_fully_defined(), True),
        (lambda shape: bool(shape), True),
        (lambda shape: shape.with_rank(3), Shape([2, 3, 4])),
        (lambda shape: shape.with_rank_at_least(2), Shape([2, 3, 4])),
        (lambda shape: shape.with_rank_at_most(3), Shape([2, 3, 4])),
        (lambda shape: shape.merge_with([None, 3, None]), Shape([2, 3, 4])),
        (lambda shape: shape.most_specific_compatible_shape([2, 5, 4]), Shape([2, None, 4])),
        (lambda shape: shape.most_specific_compatible_shape([2]), Shape(None)),
    ],
)
def test_known_shape(expression, expected):
    result = expression(Shape([2, 3, 4]))
    assert result == expected
    assert type(result) is type(expected)


@pytest.mark.parametrize(
    "expression, expected",
    [
        (lambda: Shape(None).rank, None),
        (lambda: Shape(None).num_elements(), None),
        (lambda: Shape(None).is_fully_defined(), False),
        (lambda: bool(Shape(None)), False),
        (lambda: Shape(None)[0], None),
        (lambda: Shape(None)[:2], Shape([None, None])),
        (lambda: Shape(None)[1:], Shape(None)),
        (lambda: Shape(None) + [2], Shape(None)),
        (lambda: Shape(None).with_rank(2), Shape([None, None])),
        (lambda: Shape(None).merge_with([2, 3]), Shape([2, 3])),
        (lambda: bool(Shape([])), True),
        (lambda: Shape([]).num_elements(), 1),
        (lambda: Shape([2, None]).num_elements(), None),
        (lambda: Shape([2, None]).is_fully_defined(), False),
        (lambda: Shape([2, None])[1], None),
        (lambda: Shape([2, None]).as_list(), [2, None]),
        (lambda: Shape([2, None]).merge_with([None, 3]), Shape([2, 3])),
        (lambda: Shape([0, 3]).num_elements(), 0),
    ],
)
def test_unknown_and_partly_known_shapes(expression, expected):
    result = expression()
    assert result == expected
    assert type(result) is type(expected)


@pytest.mark.parametrize(
    "shape, other, compatible",
    [
        ([2, 3], [2, 3], True),
        ([2, None], [2, 3], True),
        ([2, 3], [None, None], True),
        ([2, 3], [2, 4], False),
        ([2], [2, 2], False),
        (None, [1], True),
        ([1], None, True),
    ],
    ids=str,
)
def test_compatibility(shape, other, compatible):
    assert Shape(shape).is_compatible_with(other) is compatible
    if compatible:
        Shape(shape).assert_is_compatible_with(other)
    else:
        with pytest.raises(ValueError, match="are incompatible"):
            Shape(shape).assert_is_compatible_with(other)


@pytest.mark.parametrize(
    "call, error, message",
    [
        (lambda: Shape(None).as_list(), ValueError, r"as_list\(\) is not defined on an unknown TensorShape"),
        (lambda: len(Shape(None)), ValueError, "Cannot take the length of shape with unknown rank"),
        (lambda: list(Shape(None)), ValueError, "Cannot iterate over a shape with unknown rank"),
        (lambda: Shape([2])[5], IndexError, "index out of range"),
        (lambda: Shape([2, 3]).merge_with([2, 4]), ValueError, r"Shapes \(2, 3\) and \(2, 4\) are not compatible"),
        (lambda: Shape([2, 3]).with_rank(3), ValueError, r"Shape \(2, 3\) must have rank 3"),
        (lambda: Shape([2, 3]).with_rank_at_least(3), ValueError, r"Shape \(2, 3\) must have rank at least 3"),
        (lambda: Shape([2, 3]).with_rank_at_most(1), ValueError, r"Shape \(2, 3\) must have rank at most 1"),
        (lambda: Shape([2, 3]).assert_has_rank(1), ValueError, r"Shape \(2, 3\) must have rank 1"),
        (lambda: Shape([2, 3]).assert_same_rank([1]), ValueError, r"\(2, 3\) and \(1,\) must have the same rank"),
        (lambda: Shape([2, None]).assert_is_fully_defined(), ValueError, r"Shape \(2, None\) is not fully defined"),
        (lambda: tf.convert_to_tensor(Shape([2, None])), ValueError, r"partially known TensorShape \(2, None\)"),
    ],
)
def test_errors(call, error, message):
    with pytest.raises(error, match=message):
        call()


@pytest.mark.parametrize(
    "left, right, expected",
    [([2, 1], [3], [2, 3]), ([], [2], [2]), ([4, 1, 3], [2, 1], [4, 2, 3]), ([1, 0], [3, 1], [3, 0])],
    ids=str,
)
def test_broadcast_static_shape(left, right, expected):
    assert tf.broadcast_static_shape(Shape(left), Shape(right)) == expected
    assert tf.broadcast_static_shape(Shape(right), Shape(left)) == expected


def test_broadcast_static_shape_of_shapes_that_do_not_fit():
    with pytest.raises(ValueError, match=r"Incompatible shapes for broadcasting.*\(2, 2\) and \(3,\)"):
        tf.broadcast_static_shape(Shape([2, 2]), Shape([3]))


def test_set_shape_checks():
    tensor = tf.zeros([3])
    tensor.set_shape([3])
    tensor.set_shape([None])
    assert tensor.shape == [3]
    with pytest.raises(ValueError, match=r"shape \(3,\) is not compatible with supplied shape \(4,\)"):
        tensor.set_shape([4])


def test_ensure_shape():
    tensor = tf.zeros([2, 3])
    assert tf.ensure_shape(tensor, [None, 3]).shape == [2, 3]
    with pytest.raises(tf.errors.InvalidArgumentError, match=r"\[2,3\] is not compatible with expected shape \[2,4\]"):
        tf.ensure_shape(tensor, [2, 4])


@pytest.mark.parametrize(
    "call, expected",
    [
        (lambda x: tf.shape(x), [2, 3]),
        (lambda x: tf.rank(x), 2),
        (lambda x: tf.size(x), 6),
        (lambda x: tf.shape(x)[0], 2),
        (lambda x: tf.shape_n([x, x[0]])[1], [3]),
        (lambda x: tf.shape(1.0), []),
    ],
    ids=["shape", "rank", "size", "element", "shape_n", "scalar"],
)
def test_shapes_as_tensors(call, expected):
    result = call(tf.zeros([2, 3]))
    assert result.dtype == tf.int32
    assert result.numpy().tolist() == expected


def test_shapes_as_tensors_of_another_dtype():
    assert tf.shape(tf.zeros([2]), out_type=tf.int64).dtype == tf.int64
    assert tf.size(tf.zeros([2]), out_type=tf.int64).dtype == tf.int64


class TestSpec:
    def test_attributes(self):
        spec = tf.TensorSpec([2, None], tf.int32, "x")
        assert spec.shape == [2, None]
        assert spec.dtype is tf.int32
        assert spec.name == "x"

    def test_defaults(self):
        spec = tf.TensorSpec([2])
        assert spec.dtype is tf.float32
        assert spec.name is None

    def test_equality_and_hash(self):
        assert tf.TensorSpec([2]) == tf.TensorSpec((2,))
        assert hash(tf.TensorSpec([2])) == hash(tf.TensorSpec((2,)))
        assert tf.TensorSpec([2]) != tf.TensorSpec([3])
        assert tf.TensorSpec([2]) != tf.TensorSpec([2], tf.float64)
        assert tf.TensorSpec([2], name="a") != tf.TensorSpec([2], name="b")

    def test_from_tensor(self):
        assert tf.TensorSpec.from_tensor(tf.zeros([2], tf.int64)) == tf.TensorSpec([2], tf.int64)

    @pytest.mark.parametrize(
        "shape, dtype, compatible",
        [
            ([None], "float32", True),
            (None, "float32", True),
            ([2], "float32", True),
            ([3], "float32", False),
            ([2, 1], "float32", False),
            ([2], "int32", False),
        ],
        ids=str,
    )
    def test_is_compatible_with(self, shape, dtype, compatible):
        spec = tf.TensorSpec(shape, dtype)
        assert spec.is_compatible_with(tf.zeros([2])) is compatible
        assert spec.is_compatible_with(tf.TensorSpec([2])) is compatible
