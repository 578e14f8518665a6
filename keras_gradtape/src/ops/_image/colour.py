"""Conversion of colours."""

from keras.src.backend.common import dtypes
from keras.src.backend.config import standardize_data_format

import gradtape as tf
from keras_gradtape.src.ops._image.layout import batched, check_rank
from keras_gradtape.src.ops.core import convert_to_tensor


def rgb_to_grayscale(images, data_format=None):
    images = convert_to_tensor(images)
    check_rank(images)
    axis = -1 if standardize_data_format(data_format) == "channels_last" else -3
    if images.shape[axis] not in (1, 3):
        raise ValueError(
            f"Invalid channel size: expected 3 (RGB) or 1 (Grayscale). Received input with shape: images.shape={images.shape}"
        )
    if images.shape[axis] == 1:
        return images
    dtype = images.dtype
    if not dtype.is_floating:
        images = tf.cast(images, dtypes.result_type(dtype.name, float))
    red, green, blue = tf.split(images, 3, axis)
    return tf.cast(0.2989 * red + 0.5870 * green + 0.1140 * blue, dtype)  # Rec. ITU-R BT.601-7, section 2.5.1


def _floating(convert, images, data_format):
    images = convert_to_tensor(images)
    check_rank(images)
    if not images.dtype.is_floating:
        raise ValueError(f"Invalid images dtype: expected float dtype. Received: images.dtype={images.dtype.name}")
    return batched(convert, images, data_format)


def rgb_to_hsv(images, data_format=None):
    return _floating(tf.image.rgb_to_hsv, images, data_format)


def hsv_to_rgb(images, data_format=None):
    return _floating(tf.image.hsv_to_rgb, images, data_format)
