"""`compat.v1.Dimension`, and shapes after `disable_v2_tensorshape()`: what TensorFlow 2.21 gives."""

import numpy as np
import pytest

import gradtape as tf
from gradtape.compat.v1 import Dimension, dimension_at_index, dimension_value


@pytest.fixture
def dimensions():
    tf.compat.v1.disable_v2_tensorshape()
    yield
    tf.compat.v1.enable_v2_tensorshape()


def test_arithmetic_gives_dimensions():
    twelve = Dimension(12)
    results = [twelve + 3, 3 + twelve, twelve - 3, 13 - twelve, twelve * 2, twelve // 5, 25 // twelve, twelve % 5, 25 % twelve]
    assert [result.value for result in results] == [15, 15, 9, 1, 24, 2, 2, 2, 1]
    assert all(isinstance(result, Dimension) for result in results)
    assert (int(twelve), [4] * Dimension(2), np.zeros([Dimension(2), 3]).shape) == (12, [4, 4], (2, 3))
    assert (repr(twelve), str(twelve), f"{twelve}") == ("Dimension(12)", "12", "12")
    assert twelve == 12 and twelve != Dimension(13) and twelve < 13 and twelve != (12,)


def test_what_is_not_known():
    known, unknown = Dimension(12), Dimension(None)
    assert [(known + unknown).value, (unknown * 2).value, (12 - unknown).value] == [None] * 3
    assert [known == unknown, unknown == unknown, unknown != 12, known < unknown, unknown >= known] == [None] * 5
    assert unknown != "x" and not unknown and str(unknown) == "?"
    assert known.merge_with(unknown).value == unknown.merge_with(12).value == 12
    assert known.is_compatible_with(None) and not known.is_compatible_with(13)


@pytest.mark.parametrize(
    "call, error",
    [
        (lambda: Dimension(-1), ValueError),
        (lambda: Dimension(1.5), TypeError),
        (lambda: Dimension(tf.string), TypeError),
        (lambda: Dimension(12).merge_with(13), ValueError),
        (lambda: int(Dimension(None)), TypeError),
    ],
)
def test_errors(call, error):
    with pytest.raises(error, match=r"Dimension|int\(\)"):
        call()


def test_shapes_have_them(dimensions):
    with tf.Graph().as_default():
        x = tf.compat.v1.placeholder(tf.float32, [None, 4, 3])
        assert [item.value for item in x.shape] == [None, 4, 3]
        assert x.get_shape()[1].value == 4 and x.shape[1:].as_list() == [4, 3]
        assert tf.reshape(x, [-1, x.shape[1] * x.shape[2]]).shape.as_list() == [None, 12]
        assert tf.zeros([x.shape[1], 2]).shape == [4, 2]
        assert str(x.shape) == "(?, 4, 3)" and repr(x.shape[1:]) == "TensorShape([Dimension(4), Dimension(3)])"


def test_by_either_style():
    shape = tf.TensorShape([3, None])
    assert [dimension_value(shape[0]), dimension_value(shape[1]), dimension_value(Dimension(5))] == [3, None, 5]
    assert [dimension_at_index(shape, 0).value, dimension_at_index(tf.TensorShape(None), 1).value] == [3, None]
    assert [item.value for item in shape.dims] == [3, None]


SHAPES = [None, [None], [1], [1, 2], [None, 2], []]


def test_subtypes():
    table = [[tf.TensorShape(a).is_subtype_of(tf.TensorShape(b)) for b in SHAPES] for a in SHAPES]
    assert [[int(x) for x in row] for row in table] == [
        [1, 0, 0, 0, 0, 0],
        [1, 1, 0, 0, 0, 0],
        [1, 1, 1, 0, 0, 0],
        [1, 0, 0, 1, 1, 0],
        [1, 0, 0, 0, 1, 0],
        [1, 0, 0, 0, 0, 1],
    ]
    named, plain = tf.TensorSpec([1], name="a"), tf.TensorSpec([1])
    assert plain.is_subtype_of(named) and not named.is_subtype_of(plain)
    assert plain.is_subtype_of(tf.TensorSpec([None])) and not plain.is_subtype_of(tf.TensorSpec([1], tf.int32))


def test_common_supertypes():
    def shape(first, *others):
        return tf.TensorShape(first).most_specific_common_supertype([tf.TensorShape(other) for other in others])

    assert shape([1, 2, 3], [1, None, 3], [1, 5, 4]).as_list() == [1, None, None]
    assert shape([1], [1, 2]).rank is None
    spec = tf.TensorSpec([1, 2])
    assert spec.most_specific_common_supertype([tf.TensorSpec([1, 3])]) == tf.TensorSpec([1, None])
    assert spec.most_specific_common_supertype([tf.TensorSpec([1, 2], tf.int32)]) is None
    assert spec.most_specific_common_supertype([tf.TensorSpec([1, 2], name="a")]) is None
    with pytest.raises(ValueError, match="compatible"):
        spec.most_specific_compatible_type(tf.TensorSpec([1], tf.int32))


def test_specs_of_tensors_in_a_graph():
    with tf.Graph().as_default():
        spec = tf.TensorSpec.from_tensor(tf.compat.v1.placeholder(tf.float32, [None, 1], name="partial"))
    assert spec == tf.TensorSpec([None, 1], name="partial")
    assert not tf.TensorSpec([1]).is_compatible_with(1.0)
    with pytest.raises(ValueError, match="should be a tf"):
        tf.TensorSpec.from_tensor(3)
