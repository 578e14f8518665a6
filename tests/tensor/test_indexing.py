"""NumPy-style indexing of tensors and variables, compared with NumPy itself."""

import random

import numpy as np
import pytest

import gradtape as tf

ARRAY = np.arange(24, dtype="float32").reshape(2, 3, 4)

EXPRESSIONS = {
    "integer": lambda a: a[1],
    "negative integer": lambda a: a[-1],
    "integers": lambda a: a[1, 2, 3],
    "tuple of one": lambda a: a[(1,)],
    "empty tuple": lambda a: a[()],
    "ellipsis": lambda a: a[...],
    "ellipsis first": lambda a: a[..., 0],
    "ellipsis last": lambda a: a[0, ...],
    "ellipsis between": lambda a: a[0, ..., 1],
    "ellipsis that stands for nothing": lambda a: a[0, ..., 1, 2],
    "newaxis": lambda a: a[tf.newaxis],
    "newaxis inside": lambda a: a[:, tf.newaxis, 1],
    "newaxis at both ends": lambda a: a[None, ..., None],
    "newaxis twice": lambda a: a[:, None, None, ..., None],
    "slice": lambda a: a[:, 1:],
    "slice of slices": lambda a: a[:, 1:][:, ::2],
    "slices": lambda a: a[0:1, 1:3, 2:4],
    "stride": lambda a: a[:, ::2],
    "negative stride": lambda a: a[::-1],
    "negative strides": lambda a: a[::-1, ::-2, ::-1],
    "negative stride with bounds": lambda a: a[:, 2:0:-1],
    "negative stride to the start": lambda a: a[:, 1::-1],
    "negative bounds": lambda a: a[..., -3:-1],
    "bounds beyond the end": lambda a: a[:, -100:100],
    "empty slice": lambda a: a[:, 2:1],
    "empty slice beyond the end": lambda a: a[:, 7:9],
    "empty slice backwards": lambda a: a[:, 0:2:-1],
    "mixture": lambda a: a[1, None, ::-1, ..., -1],
    "NumPy integer": lambda a: a[np.int64(1), np.int8(-1)],
    "zero-dimensional array": lambda a: a[np.array(1)],
    "NumPy integers as bounds": lambda a: a[:, np.int32(1) : np.int64(3)],
}


@pytest.mark.parametrize("make", [tf.constant, tf.Variable], ids=["tensor", "variable"])
@pytest.mark.parametrize("expression", EXPRESSIONS.values(), ids=EXPRESSIONS)
def test_as_numpy(expression, make):
    result, expected = expression(make(ARRAY)), expression(ARRAY)
    assert isinstance(result, tf.Tensor)
    assert result.dtype == tf.float32
    assert result.shape == expected.shape
    np.testing.assert_array_equal(result.numpy(), expected)


def random_index(draw, shape):
    """A random index expression for an array of `shape`: integers, slices, new axes, at most one ellipsis."""

    def bound(extent):
        return draw.choice([None, draw.randint(-extent - 2, extent + 2)])

    def element(extent):
        if extent and draw.random() < 0.35:
            return draw.randint(-extent, extent - 1)
        return slice(bound(extent), bound(extent), draw.choice([None, 1, 2, 3, -1, -2]))

    used = draw.randint(0, len(shape))
    index = [element(extent) for extent in shape[:used]]
    if draw.random() < 0.5:  # the ellipsis stands for axes in the middle; what follows it counts from the end
        front = draw.randint(0, used)
        index = index[:front] + [Ellipsis] + [element(extent) for extent in shape[len(shape) - used + front :]]
    for _ in range(draw.choice([0, 0, 1, 2])):
        index.insert(draw.randint(0, len(index)), None)
    return tuple(index)


@pytest.mark.parametrize("shape", [(5,), (3, 4), (2, 3, 4), (2, 1, 3, 2), (3, 0, 2)], ids=str)
def test_random_expressions(shape, fuzz_factor, count):
    draw, array = random.Random(str(shape)), np.arange(np.prod(shape), dtype="int32").reshape(shape)
    tensor = tf.constant(array)
    for _ in range(40 * fuzz_factor):
        index = random_index(draw, shape)
        result, expected = tensor[index], array[index]
        assert result.shape == expected.shape, f"index {index}"
        np.testing.assert_array_equal(result.numpy(), expected, err_msg=f"index {index}")
        count("random index expressions compared with NumPy")


@pytest.mark.parametrize("dtype", ["bool", "int8", "uint8", "int32", "int64", "float16", "float32", "float64", "complex64"])
def test_every_dtype(dtype):
    array = np.arange(6).reshape(2, 3).astype(dtype)
    result = tf.constant(array)[::-1, 1:]
    assert result.dtype == dtype
    np.testing.assert_array_equal(result.numpy(), array[::-1, 1:])


def test_strings():
    assert tf.constant(["a", "b", "c"])[1].numpy() == b"b"


class TestTensorsAsIndices:
    @pytest.mark.parametrize("dtype", ["int16", "int32", "int64"])
    @pytest.mark.parametrize(
        "expression",
        [
            lambda a, i: a[i],
            lambda a, i: a[-i],
            lambda a, i: a[:, i],
            lambda a, i: a[0, i, 2],
            lambda a, i: a[i, ..., i],
            lambda a, i: a[:, i:],
            lambda a, i: a[:, :i],
            lambda a, i: a[:, i : i + 1],
            lambda a, i: a[:, -i:],
            lambda a, i: a[:, ::i],
            lambda a, i: a[:, ::-i],
            lambda a, i: a[i, None],
        ],
    )
    def test_scalars(self, expression, dtype):
        result, expected = expression(tf.constant(ARRAY), tf.constant(1, dtype)), expression(ARRAY, 1)
        assert result.shape == expected.shape
        np.testing.assert_array_equal(result.numpy(), expected)

    def test_a_computed_index(self):
        x = tf.constant([10.0, 30.0, 20.0])
        assert x[tf.argmax(x)].numpy() == 30.0
        assert x[tf.argmax(x) + 1].numpy() == 20.0
        assert x[: tf.shape(x)[0] - 1].numpy().tolist() == [10.0, 30.0]

    def test_a_loop_over_indices(self):
        x = tf.constant([1.0, 2.0, 3.0])
        assert sum(float(x[i]) for i in tf.range(3)) == 6.0
        assert [float(x[i]) for i in range(-3, 3)] == [1.0, 2.0, 3.0] * 2

    def test_a_variable(self):
        assert tf.constant([1.0, 2.0, 3.0])[tf.Variable(1)].numpy() == 2.0

    @pytest.mark.parametrize("make", [tf.constant, np.array], ids=["tensor", "array"])
    def test_vectors_are_no_indices(self, make):
        with pytest.raises(TypeError, match=r"Only integers, slices .* are valid indices"):
            _ = tf.constant([1.0, 2.0])[make([0, 1])]

    @pytest.mark.better
    def test_vectors_as_indices_say_gather(self):
        with pytest.raises(TypeError, match=r"Only integers, slices .* are valid indices.*tf\.gather"):
            _ = tf.constant([1.0, 2.0])[tf.constant([0, 1])]

    def test_a_list_is_a_tuple(self):
        assert tf.constant(ARRAY)[[0, 1]].numpy().tolist() == ARRAY[0, 1].tolist()


class TestBooleanMasks:
    @pytest.mark.parametrize("make", [tf.constant, tf.Variable], ids=["tensor", "variable"])
    @pytest.mark.parametrize(
        "mask",
        [[True, False], [False, False], ARRAY[:, :, 0] > 3, ARRAY > 20, np.zeros(ARRAY.shape, bool)],
        ids=["first axis", "none", "two axes", "all axes", "none of all"],
    )
    def test_as_numpy(self, mask, make):
        expected = ARRAY[np.array(mask)]
        for index in (tf.constant(mask), np.array(mask)):
            result = make(ARRAY)[index]
            assert result.shape == expected.shape
            np.testing.assert_array_equal(result.numpy(), expected)

    def test_of_a_comparison(self):
        x = tf.constant([1.0, -2.0, 3.0])
        assert x[x > 0].numpy().tolist() == [1.0, 3.0]
        v = tf.Variable([1.0, -2.0, 3.0])
        assert v[v > 0].numpy().tolist() == [1.0, 3.0]

    def test_boolean_mask(self):
        x, mask = tf.constant(ARRAY), np.array([[True, False, True], [False, False, True]])
        assert tf.boolean_mask(x, mask).numpy().tolist() == ARRAY[mask].tolist()
        assert tf.boolean_mask(x, [False, True, True], axis=1).numpy().tolist() == ARRAY[:, 1:].tolist()

    @pytest.mark.parametrize("mask", [True, False, tf.constant(True)], ids=repr)
    def test_a_scalar_mask(self, mask):
        with pytest.raises(ValueError, match="mask cannot be scalar"):
            _ = tf.constant([1.0, 2.0])[mask]

    def test_a_mask_of_another_shape(self):
        with pytest.raises(ValueError, match=r"Shapes \(3,\) and \(2,\) are incompatible"):
            _ = tf.constant([1.0, 2.0, 3.0])[tf.constant([True, False])]


def indexed(*index):
    """An index expression as a test argument."""
    return index if len(index) != 1 else index[0]


@pytest.mark.parametrize("make", [tf.constant, tf.Variable], ids=["tensor", "variable"])
@pytest.mark.parametrize(
    "index, error, message",
    [
        (2, tf.errors.InvalidArgumentError, "slice index 2 of dimension 0 out of bounds"),
        (-3, tf.errors.InvalidArgumentError, "slice index -1 of dimension 0 out of bounds"),
        (10**12, tf.errors.InvalidArgumentError, "slice index 1000000000000 of dimension 0 out of bounds"),
        (indexed(0, 3), tf.errors.InvalidArgumentError, "slice index 3 of dimension 1 out of bounds"),
        (indexed(..., 4), tf.errors.InvalidArgumentError, "slice index 4 of dimension 2 out of bounds"),
        (tf.constant(2), tf.errors.InvalidArgumentError, "slice index 2 of dimension 0 out of bounds"),
        (tf.constant(-3), tf.errors.InvalidArgumentError, "slice index -1 of dimension 0 out of bounds"),
        (np.int64(2), tf.errors.InvalidArgumentError, "slice index 2 of dimension 0 out of bounds"),
        (indexed(0, 0, 0, 0), tf.errors.InvalidArgumentError, "input has only 3 dims"),
        (indexed(0, ..., 0, 0, 0), tf.errors.InvalidArgumentError, "input has only 3 dims"),
        (indexed(..., ...), tf.errors.InvalidArgumentError, "Multiple ellipses in slice spec not allowed"),
        (slice(None, None, 0), tf.errors.InvalidArgumentError, r"strides\[0\] must be non-zero"),
        (1.0, TypeError, r"Only integers, slices .* are valid indices, got 1\.0"),
        (slice(1.5, None), TypeError, r"Only integers, slices .* are valid indices, got 1\.5"),
        ("a", TypeError, "Only integers, slices .* are valid indices, got 'a'"),
        (tf.constant(1.0), TypeError, "Only integers, slices .* are valid indices, got .*float32"),
    ],
    ids=repr,
)
def test_errors(make, index, error, message):
    with pytest.raises(error, match=message):
        _ = make(ARRAY)[index]


def test_a_scalar_has_no_elements():
    with pytest.raises(tf.errors.InvalidArgumentError, match="Attempting to slice scalar input"):
        _ = tf.constant(1.0)[0]
    assert tf.constant(1.0)[...].shape == ()
    assert tf.constant(1.0)[None].shape == (1,)


class TestStridedSliceAsAFunction:
    def test_masks(self):
        x = tf.constant(ARRAY)
        result = tf.strided_slice(x, [0, 1, 0], [1, 3, 4], [1, 1, 2])
        assert result.numpy().tolist() == ARRAY[0:1, 1:3, 0:4:2].tolist()
        result = tf.strided_slice(x, [1, 0], [2, 2], begin_mask=2, shrink_axis_mask=1)
        assert result.numpy().tolist() == ARRAY[1, :2].tolist()
        result = tf.strided_slice(x, [0, 1], [0, 2], ellipsis_mask=1)
        assert result.numpy().tolist() == ARRAY[..., 1:2].tolist()
        result = tf.strided_slice(x, [0, 1], [0, 2], new_axis_mask=1)
        assert result.numpy().tolist() == ARRAY[None, 1:2].tolist()

    def test_slice(self):
        x = tf.constant(ARRAY)
        assert tf.slice(x, [0, 1, 1], [2, 2, -1]).numpy().tolist() == ARRAY[:, 1:3, 1:].tolist()
        assert tf.slice(x, tf.constant([1, 0, 0]), [1, 1, 2]).numpy().tolist() == ARRAY[1:2, 0:1, 0:2].tolist()


def test_begins_share_one_program():
    """Different offsets of one slice length give the values of their own place."""
    x = tf.range(100)
    for start in range(0, 90, 7):
        assert x[start : start + 5].numpy().tolist() == list(range(start, start + 5))
        assert x[start].numpy() == start
