"""Images as TensorFlow 1 resizes and cuts them. Numbers recorded from TensorFlow 2.21."""

import numpy as np
import pytest

import gradtape.compat.v1 as tf
from tests.graph.values import same

LINE = np.array([0.0, 4.0, 1.0, 9.0], np.float32).reshape(1, 4, 1, 1)

RESIZED = [
    (
        "bilinear",
        False,
        [0.0, 2.6667, 3.0, 1.0, 6.3333, 9.0],
        [1.7778, 7.5556, 8.2222, 26.4444],
    ),
    (
        "bilinear",
        True,
        [0.0, 2.4, 3.4, 1.6, 4.2, 9.0],
        [1.92, 8.96, 8.96, 21.36],
    ),
    (
        "bicubic",
        False,
        [0.0, 3.0755, 3.0573, 1.0, 6.3179, 9.8889],
        [1.2549, 9.0703, 6.0554, 30.2984],
    ),
    (
        "bicubic",
        True,
        [0.0, 2.7702, 3.6633, 0.8564, 3.7836, 9.0],
        [1.4072, 10.2518, 7.8891, 20.5987],
    ),
    ("nearest_neighbor", False, [0.0, 0.0, 4.0, 1.0, 1.0, 9.0], [0.0, 8.0, 4.0, 18.0]),
    ("nearest_neighbor", True, [0.0, 4.0, 4.0, 1.0, 1.0, 9.0], [0.0, 16.0, 4.0, 18.0]),
    ("area", False, [0.0, 2.0, 4.0, 1.0, 5.0, 9.0], None),
    ("area", True, [0.0, 1.3333, 4.0, 2.0, 1.0, 9.0], None),
]


@pytest.mark.parametrize(("name", "align_corners", "value", "gradient"), RESIZED)
def test_where_the_pixels_of_a_resized_image_lie(session, name, align_corners, value, gradient):
    x = tf.placeholder(tf.float32, [None, 4, 1, 1])
    y = getattr(tf.image, f"resize_{name}")(x, [6, 1], align_corners=align_corners)
    same(session.run(y, {x: LINE}).ravel(), value, 5e-5)
    if gradient is None:
        with pytest.raises(LookupError, match="ResizeArea"):
            tf.gradients(y, x)
    else:
        same(session.run(tf.gradients(y * y, x)[0], {x: LINE}).ravel(), gradient, 5e-5)


def test_resize_images(session):
    x = tf.placeholder(tf.float32, [None, 4, 1, 1])
    y = tf.image.resize_images(x, [6, 1], method=tf.image.ResizeMethod.NEAREST_NEIGHBOR)
    assert y.shape.as_list() == [None, 6, 1, 1]
    same(session.run(y, {x: LINE}).ravel(), [0.0, 0.0, 4.0, 1.0, 1.0, 9.0])
    assert tf.image.resize_images(np.zeros([4, 4, 3], np.uint8), [4, 4]).dtype == tf.uint8
    assert tf.image.resize(np.zeros([4, 4, 3], np.uint8), [2, 4]).dtype == tf.float32
    nearest = tf.image.resize(x, [6, 1], tf.image.ResizeMethod.NEAREST_NEIGHBOR, align_corners=True)
    same(session.run(nearest, {x: LINE}).ravel(), [0.0, 4.0, 4.0, 1.0, 1.0, 9.0])


def test_images_fitted_into_a_frame():
    whole = np.arange(4.0, dtype=np.float32).reshape(1, 4, 1)
    same(tf.image.resize_image_with_pad(whole, 3, 8)[:, :, 0].numpy(), [[0, 0.5, 1, 1.5, 2, 2.5, 3, 3]] * 2 + [[0] * 8])
    same(tf.image.resize_image_with_pad(whole, 3, 7, 0, True)[:, :, 0].numpy(), [[0, 0.6, 1.2, 1.8, 2.4, 3, 0], [0] * 7, [0] * 7])
    same(tf.image.resize_image_with_crop_or_pad(whole, 1, 2)[0, :, 0].numpy(), [1, 2])
    assert tf.image.transpose_image(whole).shape == [4, 1, 1]


def test_older_names_of_arguments(session):
    x = tf.placeholder(tf.float32, [None, 4, 1, 1])
    crops = tf.image.crop_and_resize(x, boxes=[[0.0, 0.0, 1.0, 0.0]], box_ind=[0], crop_size=[2, 1])
    parts = tf.extract_image_patches(x, ksizes=[1, 2, 1, 1], strides=[1, 2, 1, 1], rates=[1, 1, 1, 1], padding="VALID")
    same([part.ravel() for part in session.run([crops, parts], {x: LINE})], [[0.0, 9.0], [0.0, 4.0, 1.0, 9.0]])
    drawn = tf.image.draw_bounding_boxes(LINE, [[[0.0, 0.0, 1.0, 1.0]]], colors=[[1.0]])
    same(session.run(drawn).ravel(), np.ones(4))


def test_the_last_value_fills_a_constant(session):
    same(session.run([tf.constant([1, 2], shape=[4]), tf.constant(3.0, shape=[2, 2])]), [[1, 2, 2, 2], [[3.0, 3.0], [3.0, 3.0]]])
