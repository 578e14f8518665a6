"""Parts of SparseTensors, extrema, softmax, empty rows and distances: TensorFlow's answers and errors."""

import math

import pytest

import gradtape as tf

S = tf.sparse.SparseTensor
Invalid = tf.errors.InvalidArgumentError


def parts(x):
    return x.indices.numpy().tolist(), x.values.numpy().tolist(), x.dense_shape.numpy().tolist()


@pytest.fixture
def a():
    return S([[0, 1], [1, 0], [3, 2]], [1.0, -2.0, 3.0], [4, 5])


@pytest.fixture
def integers():
    return S([[0, 0], [0, 1], [1, 0]], tf.constant([1, 3, 2], tf.int64), [2, 2])


@pytest.fixture
def strings():
    return S([[0, 0], [2, 1]], ["x", "y"], [4, 2])


def test_slices(a, strings):
    assert parts(tf.sparse.slice(a, [0, 0], [2, 2])) == ([[0, 1], [1, 0]], [1.0, -2.0], [2, 2])
    assert parts(tf.sparse.slice(a, [1, 1], [9, 9])) == ([[2, 1]], [3.0], [3, 4])
    assert parts(tf.sparse.slice(strings, [1, 0], [2, 2])) == ([[1, 1]], [b"y"], [2, 2])
    with pytest.raises(Invalid, match="Expected start to be a vector of length 2 but got length 1"):
        tf.sparse.slice(a, [0], [1])


def test_splits(a):
    first, second, third = tf.sparse.split(sp_input=a, num_split=3, axis=-1)
    assert parts(first) == ([[0, 1], [1, 0]], [1.0, -2.0], [4, 2]) and parts(second) == ([[3, 0]], [3.0], [4, 2])
    assert parts(third) == ([], [], [4, 1])
    with pytest.raises(ValueError, match="axis is required"):
        tf.sparse.split(a, 2)
    for axis in (2, -3):
        with pytest.raises(tf.errors.InvalidArgumentError, match=f"axis {axis} is out of range for a tensor of rank 2"):
            tf.sparse.split(a, 2, axis)


def test_the_largest(a, integers):
    assert tf.sparse.reduce_max(a).numpy() == 3.0
    assert tf.sparse.reduce_max(a, axis=1).numpy().tolist() == [1.0, -2.0, 0.0, 3.0]
    assert tf.sparse.reduce_max(a, axis=0, keepdims=True).numpy().tolist() == [[-2.0, 1.0, 3.0, 0.0, 0.0]]
    assert parts(tf.sparse.reduce_max(a, axis=1, output_is_sparse=True)) == ([[0], [1], [3]], [1.0, -2.0, 3.0], [4])
    assert tf.sparse.reduce_max(tf.sparse.from_dense([-5, 0, -3])).numpy() == -3
    assert tf.sparse.reduce_max(S(tf.zeros([0, 2], tf.int64), tf.zeros([0]), [2, 2])).numpy() == 0.0
    assert tf.sparse.reduce_max(integers, axis=-1).numpy().tolist() == [3, 2]
    with pytest.raises(Invalid, match="Invalid reduction dimension 5, for input with 2 dimensions"):
        tf.sparse.reduce_max(a, axis=5)


def test_larger_and_smaller(a):
    b = S([[0, 1], [2, 4]], [5.0, -7.0], [4, 5])
    union = [[0, 1], [1, 0], [2, 4], [3, 2]]
    assert parts(tf.sparse.maximum(a, b)) == (union, [5.0, 0.0, 0.0, 3.0], [4, 5])
    assert parts(tf.sparse.minimum(a, b)) == (union, [1.0, -2.0, -7.0, 0.0], [4, 5])
    with pytest.raises(Invalid, match="Operands do not have the same shapes; got shapes: 4 5 and 1 1"):
        tf.sparse.maximum(a, S([[0, 0]], [1.0], [1, 1]))


def test_softmax():
    found = tf.sparse.softmax(S([[0, 0], [0, 2], [1, 1]], [1.0, 2.0, 5.0], [2, 3]))
    assert found.values.numpy().tolist() == pytest.approx([0.26894143, 0.7310586, 1.0])
    with pytest.raises(Invalid, match="Input should have rank >= 2, but received shape: 2"):
        tf.sparse.softmax(S([[0]], [1.0], [2]))


def test_empty_rows(strings):
    filled, empty = tf.sparse.fill_empty_rows(strings, "z")
    assert parts(filled) == ([[0, 0], [1, 0], [2, 1], [3, 0]], [b"x", b"z", b"y", b"z"], [4, 2])
    assert empty.numpy().tolist() == [False, True, False, True]


def test_indicators_shapes_and_masks(a, integers):
    assert tf.sparse.to_indicator(integers, 4).numpy().tolist() == [[False, True, False, True], [False, False, True, False]]
    with pytest.raises(Invalid, match=r"Indices are not valid \(out of bounds\)"):
        tf.sparse.to_indicator(integers, 2)
    assert tf.sparse.reset_shape(a).shape == [4, 3] and tf.sparse.reset_shape(a, [9, 9]).shape == [9, 9]
    with pytest.raises(ValueError, match=r"should have dimension sizes >= sp_input.shape"):
        tf.sparse.reset_shape(a, [1, 1])
    rows = tf.IndexedSlices(tf.constant([[1, 2], [3, 4], [5, 6]]), tf.constant([12, 26, 37]))
    masked = tf.sparse.mask(rows, [12, 45])
    assert (masked.indices.numpy().tolist(), masked.values.numpy().tolist()) == ([26, 37], [[3, 4], [5, 6]])


def test_gradients():
    v = tf.Variable([1.0, -2.0, 3.0])
    with tf.GradientTape(persistent=True) as tape:
        s = S([[0, 1], [1, 0], [1, 2]], v, [4, 5])
        sliced = tf.reduce_sum(tf.sparse.slice(s, [0, 0], [2, 2]).values ** 2)
        softmax = tf.reduce_sum(tf.sparse.softmax(s).values ** 2)
        larger = tf.reduce_sum(tf.sparse.maximum(s, S([[0, 1]], [5.0], [4, 5])).values ** 2)
        filled = tf.reduce_sum(tf.sparse.fill_empty_rows(s, 1.0)[0].values ** 2)
    assert isinstance(tape.gradient(sliced, v), tf.Tensor)
    found = [tf.convert_to_tensor(tape.gradient(y, v)).numpy().tolist() for y in (sliced, softmax, larger, filled)]
    assert found[0] == [2.0, -4.0, 0.0] and found[2:] == [[0.0, 0.0, 6.0], [2.0, -4.0, 6.0]]
    assert found[1] == pytest.approx([0.0, -0.01311814, 0.01311814], abs=1e-6)


def test_edit_distance():
    first = S([[0, 0], [0, 1], [1, 0]], ["a", "b", "c"], [2, 2])
    second = S([[0, 0], [0, 1], [0, 2], [1, 0]], ["a", "c", "b", "c"], [2, 3])
    assert tf.edit_distance(first, second).numpy().tolist() == pytest.approx([1 / 3, 0.0])
    assert tf.edit_distance(S([[0, 0], [0, 1]], [1, 2], [1, 2]), S([[0, 0]], [3], [1, 1]), normalize=False).numpy() == [2.0]
    assert tf.edit_distance(S([[0, 0]], ["a"], [1, 1]), S([[2, 0]], ["b"], [3, 1])).numpy().tolist() == [math.inf, 0.0, 1.0]
    with pytest.raises(TypeError, match="Hypothesis must be a SparseTensor"):
        tf.edit_distance(tf.ones([1, 1]), first)
    for place in ([2, 0], [-1, 0]):
        with pytest.raises(tf.errors.InvalidArgumentError, match=r"is out of bounds: need 0 <= index < \[2\]"):
            tf.edit_distance(S([[0, 0], place], ["a", "b"], [2, 2]), second)
    with pytest.raises(tf.errors.InvalidArgumentError, match="rank at least 2"):
        tf.edit_distance(S([[0]], ["a"], [1]), S([[0]], ["a"], [1]))
    with pytest.raises(tf.errors.InvalidArgumentError, match="expected to be a string tensor but is a int32 tensor"):
        tf.edit_distance(first, S([[0, 0]], [1], [2, 2]))


def test_strings_are_joined(strings):
    assert tf.sparse.concat(1, [strings, strings]).values.numpy().tolist() == [b"x", b"x", b"y", b"y"]


def test_strings_are_made_dense(strings):
    assert tf.sparse.to_dense(strings).numpy().tolist() == [[b"x", b""], [b"", b""], [b"", b"y"], [b"", b""]]
    assert tf.sparse.to_dense(strings, default_value=b"-").numpy().tolist()[0] == [b"x", b"-"]
    assert tf.function(lambda: tf.sparse.to_dense(strings))().numpy()[2, 1] == b"y"
    with pytest.raises(Invalid, match="out of order"):
        tf.sparse.to_dense(S([[1, 0], [0, 1]], ["a", "b"], [2, 2]))


@pytest.mark.parametrize("places", [[[1, 0], [0, 1]], [[0, 1], [0, 1]]])
def test_sets_validate_their_indices(places):
    x = S(places, [1, 2], [2, 3])
    for call in (tf.sets.size, lambda x, **given: tf.sets.intersection(x, x, **given)):
        with pytest.raises(tf.errors.InvalidArgumentError, match=r"indices\[1\] = \[0,1\] is (out of order|repeated)"):
            call(x)
    assert tf.sets.size(x, validate_indices=False).numpy().sum() == 2


def test_values_of_one_place_are_added_to_a_dense_tensor():
    x = S([[0, 1], [0, 1]], [1.0, 2.0], [2, 3])
    for total in (tf.sparse.add(x, tf.ones([2, 3])), tf.sparse.add(tf.ones([2, 3]), x)):
        assert total.numpy().tolist() == [[1.0, 4.0, 1.0], [1.0, 1.0, 1.0]]
    with pytest.raises(tf.errors.InvalidArgumentError, match=r"shapes do not match: \[2,3\] and \[1,3\]"):
        tf.sparse.add(x, tf.ones([1, 3]))


@pytest.mark.parametrize("place", [[5, 1], [1, 7], [-1, 1]])
@pytest.mark.parametrize(
    "call",
    [
        lambda s: tf.sparse.split(s, 2, 0),
        lambda s: tf.sparse.reduce_max(s, 0),
        lambda s: tf.sparse.maximum(s, s),
        lambda s: tf.sparse.fill_empty_rows(s, 1),
        lambda s: tf.sparse.to_indicator(s, 4),
        lambda s: tf.sets.size(s),
        lambda s: tf.sets.union(s, s, validate_indices=False),
    ],
)
def test_an_index_outside_of_the_shape(call, place):
    with pytest.raises(tf.errors.InvalidArgumentError, match=r"indices\[1\] = .* is out of bounds: need 0 <= index < \[2,3\]"):
        call(S([[0, 0], place], [1, 2], [2, 3]))
