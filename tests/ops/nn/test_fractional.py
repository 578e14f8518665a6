"""Fractional pools, with TensorFlow's answers."""

import numpy as np
import pytest

import gradtape as tf


@pytest.fixture(autouse=True)
def without_a_global_seed():
    tf.random.set_seed(None)


X = np.arange(35.0, dtype=np.float32).reshape(1, 5, 7, 1) % 11


def pooled(function, *args, **options):
    """The output, its borders, and the gradient of the sum of the output's squares."""
    x = tf.constant(X)
    with tf.GradientTape() as tape:
        tape.watch(x)
        found = function(x, [1.0, 1.4, 1.7, 1.0], *args, **options)
        total = tf.reduce_sum(found.output**2)
    return found.output[0, ..., 0], found.row_pooling_sequence, found.col_pooling_sequence, tape.gradient(total, x)[0, ..., 0]


MAX, AVG = tf.nn.fractional_max_pool, tf.nn.fractional_avg_pool


@pytest.mark.parametrize(
    ("function", "flags", "seed", "output", "rows", "columns", "gradient"),
    [
        (
            MAX, (), 3, [[0, 2, 4, 6], [7, 9, 10, 9], [10, 8, 10, 5]], [0, 1, 3, 5], [0, 1, 3, 5, 7],
            [[0, 0, 4, 0, 8, 0, 12], [14, 0, 18, 20, 0, 0, 0], [0] * 6 + [18], [20, 0, 0, 0, 0, 0, 10], [0, 0, 16, 0, 20, 0, 0]],
        ),
        (
            MAX, (True, True), -5, [[9, 10, 10, 9], [10, 6, 8, 9], [10, 9, 10, 5]], [0, 2, 3, 5], [0, 2, 3, 5, 7],
            [[0] * 7, [0, 0, 18, 40, 0, 0, 0], [0, 0, 0, 12, 0, 16, 36], [40, 0, 0, 0, 0, 0, 10], [0, 0, 0, 18, 20, 0, 0]],
        ),
        (
            AVG, (True,), 4, [[4, 5.5, 4.25, 3.5], [4.25, 3, 4.5, 6.5], [6.5, 8, 9.5, 0.5]], [0, 2, 4, 5], [0, 2, 3, 5, 7],
            [[2, 2, 5.5, 2.125, 2.125, 1.75, 1.75]] * 2
            + [[2.125, 2.125, 3, 2.25, 2.25, 3.25, 3.25]] * 2
            + [[6.5, 6.5, 16, 9.5, 9.5, 0.5, 0.5]],
        ),
    ],
)  # fmt: skip
def test_windows_and_gradients(function, flags, seed, output, rows, columns, gradient):
    for found, expected in zip(pooled(function, *flags, seed=seed), (output, rows, columns, gradient), strict=True):
        np.testing.assert_array_equal(found, expected)


def test_integers_are_divided_towards_0():
    found = AVG(X.astype(np.int32) - 5, [1.0, 1.4, 1.7, 1.0], seed=2)
    assert found.output[0, ..., 0].numpy().tolist() == [[-1, 1, -3, -1], [0, -1, 0, 1], [1, 3, 5, -4]]


def test_overlapping_means():
    output, *_, gradient = pooled(AVG, False, True, seed=3)
    np.testing.assert_allclose(output[0], [4, 5.5, 23 / 6, 3.5], rtol=1e-6)
    np.testing.assert_allclose(gradient[4], [2.875, 4.375, 1.5, 55 / 18, 14 / 9, 101 / 36, 1.25], rtol=1e-6)


def test_the_global_seed_takes_part():
    tf.random.set_seed(9)
    borders = MAX(X, 1.4, seed=2)[1:]
    assert [part.numpy().tolist() for part in borders] == [[0, 2, 3, 5], [0, 2, 4, 5, 6, 7]]


def test_without_a_seed_windows_differ_in_each_run_of_a_function():
    run = tf.function(lambda x: tf.nn.fractional_max_pool(x, 1.3)[1:])
    assert len({str([part.numpy().tolist() for part in run(tf.ones([1, 30, 30, 1]))]) for _ in range(4)}) > 1


def test_windows_of_whole_ratios_are_those_of_a_pool():
    x = tf.reshape(tf.range(32.0), [1, 4, 8, 1])
    for pseudo_random in (False, True):
        found = tf.nn.fractional_avg_pool(x, [1.0, 2.0, 2.0, 1.0], pseudo_random)
        np.testing.assert_array_equal(found.output, tf.nn.avg_pool2d(x, 2, 2, "VALID"))


@pytest.mark.parametrize(
    ("ratio", "error", "words"),
    [
        ([1.0, 0.5, 1.0, 1.0], ValueError, r"`pooling_ratio` elements should be >= 1.0. Received: pooling_ratio=\[1.0, 0.5"),
        (0.5, ValueError, "`pooling_ratio` should be >= 1.0. Received: pooling_ratio=0.5"),
        ([1.0, 1.0, 2.0], ValueError, "should have first and last elements with value 1.0"),
        ([1.0, 1.0, 1.0], ValueError, "pooling_ratio should be of length 1, 2 or 4"),
        ("a", ValueError, "`pooling_ratio` should be an int or a list of ints. Received: pooling_ratio=a"),
        (9.0, tf.errors.InvalidArgumentError, "for dimension 1. Input dim size: 5 pooling ratio: 9"),
    ],
)
def test_ratios_that_are_refused(ratio, error, words):
    with pytest.raises(error, match=words):
        tf.nn.fractional_max_pool(tf.constant(X), ratio, seed=1)


def test_images_that_are_refused():
    with pytest.raises(tf.errors.InvalidArgumentError, match="tensor_in must be 4-dimensional"):
        tf.nn.fractional_max_pool(tf.constant(X[0]), 1.5, seed=1)
    with pytest.raises(tf.errors.UnimplementedError, match="not yet supported on the batch nor channel dimension"):
        tf.nn.fractional_avg_pool(tf.constant(X), [2.0, 1.0, 1.0, 2.0])
    with pytest.raises(TypeError, match="Expected list for 'pooling_ratio'"):
        tf.nn.fractional_avg_pool(tf.constant(X), 1.5)
