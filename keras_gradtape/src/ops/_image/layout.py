"""The layout of images: with or without batch, channels last or first."""

from keras.src.backend.config import standardize_data_format

import gradtape as tf
from keras_gradtape.src.ops.core import convert_to_tensor


def one_of(name, value, accepted):
    """Raise ValueError unless the argument `name` has one of the `accepted` values."""
    if value not in accepted:
        raise ValueError(f"Invalid value for argument `{name}`. Expected of one {list(accepted)}. Received: {name}={value}")


def check_rank(images):
    """Raise ValueError unless `images` is one image or a batch of images."""
    if images.ndim not in (3, 4):
        raise ValueError(
            "Invalid images rank: expected rank 3 (single image) or rank 4 (batch of images). "
            f"Received input with shape: images.shape={images.shape}"
        )


def batched(function, images, data_format):
    """Apply `function`, for [batch, height, width, channels], to images of another layout, and restore the layout."""
    images = convert_to_tensor(images)
    check_rank(images)
    single = images.ndim == 3
    first = standardize_data_format(data_format) == "channels_first"
    if single:
        images = images[None]
    if first:
        images = tf.transpose(images, [0, 2, 3, 1])
    result = function(images)
    if first:
        result = tf.transpose(result, [0, 3, 1, 2])
    return result[0] if single else result
