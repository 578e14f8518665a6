"""Glimpses are TensorFlow's windows, with noise outside of the image in the range of its values, and have gradients."""

import numpy as np
import pytest

import gradtape as tf

Invalid = tf.errors.InvalidArgumentError
IMAGE = (100 * np.arange(1, 5)[:, None] + np.arange(1, 6)).astype("float32")[None, :, :, None]
OFFSETS = [[0.25, -0.25], [1.0, 2.0], [3.0, 2.5], [-1.0, -1.0], [np.nan, 0.0]]
IMAGES = np.repeat(IMAGE, len(OFFSETS), 0)
OUT = [[0, 0], [0, 0]]


def glimpses(images=IMAGES, size=(2, 2), offsets=OFFSETS, noise="zero", **options):
    return tf.image.extract_glimpse(images, size, offsets, noise=noise, **options)


@pytest.mark.parametrize(
    "centered, normalized, expected",
    [
        (True, True, [[[201, 202], [301, 302]], OUT, OUT, [[0, 0], [0, 101]], OUT]),
        (True, False, [[[303, 304], [403, 404]], [[405, 0], [0, 0]], OUT, [[202, 203], [302, 303]], OUT]),
        (False, True, [[[0, 201], [0, 301]], OUT, OUT, OUT, OUT]),
        (False, False, [[[101, 102], [201, 202]], [[203, 204], [303, 304]], [[403, 404], [0, 0]], [[0, 0], [0, 101]], OUT]),
    ],
)
def test_windows_begin_where_tensorflows_do(centered, normalized, expected):
    found = glimpses(centered=centered, normalized=normalized)
    assert found.numpy()[..., 0].tolist() == expected
    (first,) = glimpses(IMAGE, (8, 7), [[0.0, 0.0]]).numpy()[..., 0]  # larger than the image
    assert np.argwhere(first == 101.0).tolist() == [[2, 1]]
    assert np.count_nonzero(first) == 20


@pytest.mark.parametrize(
    "centered, normalized, expected",
    [
        (True, True, [[[201, 202], [301, 302]]]),
        (True, False, [[[202, 203], [302, 303]], [[203, 204], [303, 304]], [[303, 304], [403, 404]]]),
        (False, False, [None, [[102, 103], [202, 203]], [[302, 303], [402, 403]]]),
    ],
)
def test_windows_of_tensorflow_1_have_their_offset_in_the_middle(centered, normalized, expected):
    found = tf.compat.v1.image.extract_glimpse(IMAGES, (2, 2), OFFSETS, centered, normalized)[..., 0].numpy().tolist()
    for window, numbers in zip(found, expected, strict=False):
        assert numbers is None or window == numbers


def test_noise_lies_in_the_range_of_the_image():
    images = np.stack([IMAGE[0], 7.0 + 0.0 * IMAGE[0]])
    for noise, mean, deviation in (("uniform", 253.0, 87.8), ("gaussian", 253.0, 95.0)):
        first, second = glimpses(images, (60, 60), [[9.0, 9.0], [9.0, 9.0]], noise).numpy()
        assert np.all(second == 7.0)
        assert first.min() >= 101.0
        assert first.max() <= 405.0
        np.testing.assert_allclose([first.mean(), first.std()], [mean, deviation], rtol=0.04)


def test_gradients_go_to_what_is_inside():
    image = tf.constant(IMAGE)

    @tf.function
    def gradient(image, offsets):
        with tf.GradientTape() as tape:
            tape.watch((image, offsets))
            y = glimpses(image, (3, 3), offsets, "uniform") ** 2
        return tape.gradient(y, [image, offsets], unconnected_gradients="zero")

    dx, doffsets = gradient(image, tf.constant([[-1.0, -1.0]]))
    inside = np.pad(2 * IMAGE[:, :2, :2], ((0, 0), (0, 2), (0, 3), (0, 0)))
    assert np.array_equal(dx, inside)
    assert not np.any(doffsets)


@pytest.mark.parametrize(
    "arguments, error, message",
    [
        ({"noise": "foo"}, Invalid, "The noise could only be uniform, gaussian, or zero, got foo"),
        ({"size": (1, 2, 3)}, Invalid, "size must be a vector of size 2"),
        ({"size": (-1, 2)}, Invalid, "Expected a non-negative size, got -1"),
        ({"images": IMAGE[0]}, Invalid, r"input must be 4-dimensional .* received \[4,5,1\]"),
        ({"images": IMAGE}, Invalid, r"offsets must be \(y, x\) for each of 1 images, received shape \[5,2\]"),
        ({"images": tf.constant(IMAGES, tf.float64)}, ValueError, "requested dtype float32 for Tensor with dtype float64"),
    ],
)
def test_errors(arguments, error, message):
    with pytest.raises(error, match=message):
        glimpses(**arguments)
