"""`tf.test.compute_gradient`, with the numbers that TensorFlow 2.21 gives."""

import numpy as np
import pytest

import gradtape as tf

Z = np.array([1 + 2j], np.complex64)


def identity(x, y):
    return x * 1.0


@pytest.mark.parametrize(
    "f, x, jacobians",
    [
        (
            lambda x, y: tf.stack([x[0] * y, x[1] * x[1] * y, x[0]]),
            [np.array([1.0, 2.0], np.float32), np.float32(3.0)],
            [[[3.0, 0.0], [0.0, 12.0], [1.0, 0.0]], [[1.0], [4.0], [0.0]]],
        ),
        (lambda z: z * z, [Z], [[[2.0, -4.0], [4.0, 2.0]]]),
        (lambda z: tf.math.real(z * z), [Z], [[[2.0, -4.0]]]),
        (lambda x: tf.complex(x, x * x), [np.float32([1.0, 2.0])], [[[1.0, 0.0], [2.0, 0.0], [0.0, 1.0], [0.0, 4.0]]]),
        (lambda x: tf.gather(x, [0, 0]), [np.array([1.0, 2.0])], [[[1.0, 0.0], [1.0, 0.0]]]),
        (identity, [np.array([1.0, 2.0]), np.array([1.0])], [np.eye(2), np.zeros((2, 1))]),
    ],
    ids=["two", "complex", "real part", "to complex", "slices", "unconnected"],
)
def test_both_jacobians(f, x, jacobians):
    for found in tf.test.compute_gradient(f, x):
        assert isinstance(found, tuple) and len(found) == len(jacobians)
        for mine, expected in zip(found, jacobians, strict=True):
            np.testing.assert_allclose(mine, expected, 1e-3, 1e-3)
            assert mine.shape == np.shape(expected)


def test_a_wrong_gradient_shows_and_delta_is_used():
    @tf.custom_gradient
    def wrong(x):
        return x**3, lambda dy: dy * x

    (theoretical,), (numerical,) = tf.test.compute_gradient(wrong, [np.array([2.0])], delta=0.5)
    assert theoretical.tolist() == [[2.0]] and numerical.tolist() == [[12.25]]  # 3x² + δ²


@pytest.mark.parametrize("error", [TypeError, AssertionError])
def test_integers_have_no_gradient(error):
    with pytest.raises(error, match=r"unsupported type int32 of argument 1\. Give floats, or tf\.cast"):
        tf.test.compute_gradient(lambda x, i: tf.gather(x, i), [[1.0], tf.constant([0])])
    with pytest.raises(error, match=r"unsupported type int32 of y, the result of f\. "):
        tf.test.compute_gradient(lambda x: tf.cast(x, tf.int32), [[1.0]])


@pytest.mark.parametrize(
    "x, error, message",
    [
        (3.0, ValueError, "`x` must be a list or tuple of values convertible to a Tensor"),
        ([1], AssertionError, "Cannot compute gradient for unsupported type int32 of argument 0"),
    ],
)
def test_bad_calls(x, error, message):
    with pytest.raises(error, match=message):
        tf.test.compute_gradient(lambda x: x * x, x)


def test_what_is_empty():
    theoretical, numerical = tf.test.compute_gradient(tf.matmul, [tf.ones([0, 3]), tf.ones([3, 5])])
    assert [j.shape for j in theoretical] == [j.shape for j in numerical] == [(0, 0), (0, 15)]


def test_several_results():
    with pytest.raises(ValueError, match="f must return one tensor, and it returned 2"):
        tf.test.compute_gradient(lambda x: [x, x], [1.0])


def test_empty_arguments():
    """There is nothing to compare, but for the shape of what the gradient is."""
    x = tf.zeros((0, 3))
    assert [a[0].shape for a in tf.test.compute_gradient(tf.identity, [x])] == [(0, 0)] * 2
    analytical, numerical = tf.test.compute_gradient(tf.matmul, [x, tf.ones((3, 4))])
    assert [a.shape for a in (*analytical, *numerical)] == [(0, 0), (0, 12)] * 2
    wrong = tf.custom_gradient(lambda x: (tf.identity(x), lambda dy: tf.transpose(dy)))
    with pytest.raises(ValueError, match=r"returned shape \(3, 0\) for input 1, which has shape \(0, 3\)"):
        tf.test.compute_gradient(wrong, [x])
