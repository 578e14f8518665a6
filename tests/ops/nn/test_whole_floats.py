"""Floats that are whole numbers are taken where TensorFlow's op has an integer attribute, as half of a size often is one."""

import numpy as np
import pytest

import gradtape as tf

x = tf.ones([1, 4, 4, 1])


@pytest.mark.parametrize("two", [2.0, np.float64(2.0), np.float32(2.0)])
def test_whole_floats_are_attributes(two):
    assert tf.nn.max_pool2d(x, two, two, "VALID").shape == (1, 2, 2, 1)
    assert tf.nn.space_to_depth(x, two).shape == (1, 2, 2, 4)
    assert tf.image.extract_patches(x, [1, two, two, 1], [1, two, two, 1], [1] * 4, "VALID").shape == (1, 2, 2, 4)
    assert tf.nn.conv2d(x, tf.ones([2, 2, 1, 1]), [1, two, two, 1], "VALID").shape == (1, 2, 2, 1)


@pytest.mark.parametrize("size", [2.5, float("nan")])
def test_others_are_refused(size):
    with pytest.raises(tf.errors.InvalidArgumentError, match=f"ksize must be an integer, received {size}"):
        tf.nn.max_pool2d(x, size, 1, "VALID")
