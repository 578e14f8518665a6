"""TensorArrays that grow in loops of functions: they are as long as what the loop wrote asks for, no more and no less."""

import numpy as np
import pytest

import gradtape as tf
from gradtape._src.control.concrete import OpByOp

X = [1.0, -1.0, 2.0, 3.0]
INDICES = {  # what loops write at, how many entries there are before, and TensorFlow's result
    "counter": (lambda i: i, 0, [1.0, -1.0, 2.0, 3.0]),
    "behind": (lambda i: i + 1, 1, [5.0, 1.0, -1.0, 2.0, 3.0]),
    "every second": (lambda i: 2 * i, 0, [1.0, 0.0, -1.0, 0.0, 2.0, 0.0, 3.0]),
    "twice each": (lambda i: i // 2, 0, [-1.0, 3.0]),
    "backwards": (lambda i: 3 - i, 0, [3.0, 2.0, -1.0, 1.0]),
    "fewer than there are": (lambda i: i // 3, 2, [2.0, 3.0]),
}


@pytest.mark.parametrize("name", INDICES)
def test_size_follows_from_indices(name):
    index, before, expected = INDICES[name]

    @tf.function
    def written(x):
        array = tf.TensorArray(tf.float32, size=0, dynamic_size=True)
        for k in range(before):
            array = array.write(k, 5.0)
        for i in tf.range(4):
            array = array.write(index(i), x[i])
        return array.stack(), array.size()

    stacked, size = written(tf.constant(X))
    np.testing.assert_array_equal(stacked, expected)
    assert size == len(expected)
    if before < 2:
        assert type(written.get_concrete_function(tf.constant(X)).strategy) is not OpByOp


def test_indices_of_two_loops():
    @tf.function
    def written(x):
        array = tf.TensorArray(tf.float32, size=0, dynamic_size=True)
        for i in tf.range(2):
            for j in tf.range(3):
                array = array.write(3 * i + j, x[i] * tf.cast(j, tf.float32))
        return array.stack()

    np.testing.assert_array_equal(written(tf.constant(X)), [0, 1, 2, 0, -1, -2])


@pytest.mark.parametrize("read", ["size", "stack", "concat", "gather"])
def test_size_is_seen_in_the_loop(read):
    @tf.function
    def seen(x):
        array = tf.TensorArray(tf.float32, size=0, dynamic_size=True)
        sizes = tf.constant(0)
        for i in tf.range(4):
            array = array.write(i, x[i : i + 1])
            found = array.gather([0, 0]) if read == "gather" else getattr(array, read)()
            sizes = 10 * sizes + (found if read == "size" else tf.shape(found)[0])
        return sizes

    assert seen(tf.constant(X)) == (2222 if read == "gather" else 1234)


@pytest.mark.parametrize(
    ("at", "trips", "expected"),
    [
        (lambda i: (i * 7) % 10, 10, [0, 3, 6, 9, 2, 5, 8, 1, 4, 7]),
        (lambda i: i * (4 - i), 5, [4, 0, 0, 3, 2]),
        (lambda i: tf.where(i < 2, i + 3, i), 3, [0, 0, 2, 0, 1]),
    ],
)
def test_places_that_do_not_grow_with_the_trips(at, trips, expected):
    @tf.function
    def written(_):
        array = tf.TensorArray(tf.int32, size=0, dynamic_size=True)
        for i in tf.range(trips):
            array = array.write(at(i), i)
        return array.stack()

    np.testing.assert_array_equal(written(tf.constant(0)), expected)


def test_a_loop_that_ends_early():
    v = tf.Variable([1.0, 2.0, -3.0, 4.0])

    @tf.function
    def until_negative():
        array = tf.TensorArray(tf.float32, size=0, dynamic_size=True)
        with tf.GradientTape() as tape:
            for i in tf.range(4):
                array = array.write(i, v[i] ** 2)
                if array.read(i) > 8.0:
                    break
            y = tf.reduce_mean(array.stack())
        return y, array.size(), tape.gradient(y, v)

    y, size, gradient = until_negative()
    np.testing.assert_allclose(y, 14 / 3, rtol=1e-6)
    assert size == 3
    np.testing.assert_allclose(gradient, [2 / 3, 4 / 3, -2, 0], rtol=1e-6)


@pytest.mark.parametrize("graph", [False, True])
def test_maximum_iterations_make_no_entries(graph):
    def written():
        x = tf.constant(X)
        empty = tf.TensorArray(tf.float32, size=0, dynamic_size=True)
        _, array = tf.while_loop(lambda i, _: i < 3, lambda i, a: (i + 1, a.write(i, x[i])), (0, empty), maximum_iterations=9)
        return array.stack()

    if graph:
        with tf.Graph().as_default(), tf.compat.v1.Session() as session:
            result = session.run(written())
    else:
        result = tf.function(written)()
    np.testing.assert_array_equal(result, X[:3])


def test_tokens_one_after_the_other():
    table = tf.constant([[0.0, 1, 0, 0], [0, 0, 0, 1], [1, 0, 0, 0], [0, 0, 1, 0]])

    @tf.function
    def translated(start, end):
        tokens = tf.TensorArray(tf.int64, size=0, dynamic_size=True).write(0, start)
        for i in tf.range(8):
            so_far = tf.transpose(tokens.stack())
            following = tf.argmax(tf.gather(table, so_far[:, -1:]), axis=-1)
            tokens = tokens.write(i + 1, following[0])
            if following == end:
                break
        return tf.transpose(tokens.stack())

    np.testing.assert_array_equal(translated(tf.constant([0], tf.int64), 2), [[0, 1, 3, 2]])


def test_gather_leaves_entries_there():
    array = tf.TensorArray(tf.float32, size=2).unstack([1.0, 2.0])
    np.testing.assert_array_equal(array.gather([0, 1]), [1, 2])
    np.testing.assert_array_equal(array.stack(), [1, 2])


def test_entries_whose_shapes_are_not_inferred():
    array = tf.TensorArray(tf.float32, size=0, dynamic_size=True, infer_shape=False)
    array = array.write(0, [1.0, 2.0]).write(1, [3.0, 4.0])
    np.testing.assert_array_equal(array.stack(), [[1, 2], [3, 4]])
    np.testing.assert_array_equal(array.write(2, [5.0]).concat(), [1, 2, 3, 4, 5])

    @tf.function
    def rows(x):
        same = tf.TensorArray(tf.float32, size=2, infer_shape=False)
        growing = tf.TensorArray(tf.int32, size=0, dynamic_size=True, infer_shape=False)
        for i in tf.range(2):
            same = same.write(i, x[i])
            growing = growing.write(i, tf.range(i + 1))
        return same.stack(), growing.concat()

    stacked, joined = rows(tf.constant([[1.0, 2.0], [3.0, 4.0]]))
    np.testing.assert_array_equal(stacked, [[1, 2], [3, 4]])
    np.testing.assert_array_equal(joined, [0, 0, 1])
