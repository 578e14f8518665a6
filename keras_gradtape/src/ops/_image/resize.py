"""Resizing of images."""

import math

from keras.src.backend.common import dtypes

import gradtape as tf
from keras_gradtape.src.ops._image.layout import batched, one_of
from keras_gradtape.src.ops.core import convert_to_tensor

INTERPOLATIONS = ("bilinear", "nearest", "lanczos3", "lanczos5", "bicubic", "area")


def resize(
    images,
    size,
    interpolation="bilinear",
    antialias=False,
    crop_to_aspect_ratio=False,
    pad_to_aspect_ratio=False,
    fill_mode="constant",
    fill_value=0.0,
    data_format=None,
):
    one_of("interpolation", interpolation, INTERPOLATIONS)
    if fill_mode != "constant":
        raise ValueError(
            f"Invalid value for argument `fill_mode`. Only `'constant'` is supported. Received: fill_mode={fill_mode}"
        )
    if pad_to_aspect_ratio and crop_to_aspect_ratio:
        raise ValueError("Only one of `pad_to_aspect_ratio` & `crop_to_aspect_ratio` can be `True`.")
    if len(size) != 2:
        raise ValueError(f"Argument `size` must be a tuple of two elements (height, width). Received: size={size}")

    def resized(x):
        if crop_to_aspect_ratio:
            x = _cropped(x, size)
        elif pad_to_aspect_ratio:
            x = _padded(x, size, fill_value)
        return tf.image.resize(x, size, interpolation, antialias=antialias)

    return batched(resized, images, data_format)


def _cropped(images, target):
    """Crop `images` centrally to the aspect ratio of the target."""
    (_, height, width, _), (target_height, target_width) = images.shape, target
    crop_height = max(min(height, int(width * target_height / target_width)), 1)
    crop_width = max(min(width, int(height * target_width / target_height)), 1)
    top, left = (height - crop_height) // 2, (width - crop_width) // 2
    return images[:, top : top + crop_height, left : left + crop_width]


def _padded(images, target, fill_value):
    """Pad `images` to the aspect ratio of the target."""
    (_, height, width, _), (target_height, target_width) = images.shape, target
    rows = (max(height, int(width * target_height / target_width)) - height) // 2
    columns = (max(width, int(height * target_width / target_height)) - width) // 2
    if not (rows or columns):
        return images
    return tf.pad(images, [[0, 0], [rows, rows], [columns, columns], [0, 0]], constant_values=fill_value)


# ---------------------------------------------------------------------------------------------------------------------
# Scaling and translation along any axes, by tensors: the weights are computed


def _triangle(x):
    return tf.nn.relu(1 - x)


def _cubic(x):
    # Keys, "Cubic convolution interpolation for digital image processing", 1981, with a = −1/2
    near = ((1.5 * x - 2.5) * x) * x + 1
    far = ((-0.5 * x + 2.5) * x - 4) * x + 2
    return tf.where(x >= 2, 0.0, tf.where(x >= 1, far, near))


def _lanczos(radius, x):
    safe = tf.where(x > 1e-3, x, 1.0)
    value = radius * tf.sin(math.pi * x) * tf.sin(math.pi * x / radius) / (math.pi**2 * tf.square(safe))
    return tf.where(x > radius, 0.0, tf.where(x > 1e-3, value, 1.0))


_KERNELS = {
    **dict.fromkeys(("linear", "bilinear", "trilinear"), _triangle),
    **dict.fromkeys(("cubic", "bicubic", "tricubic"), _cubic),
    "lanczos3": lambda x: _lanczos(3.0, x),
    "lanczos5": lambda x: _lanczos(5.0, x),
}


def _weights(size, count, scale, translation, kernel, antialias):
    """Return the weights, [size, count], of each pixel in each result pixel. Columns sum to 1, or to 0 outside of the image."""
    place = (tf.range(count, dtype=scale.dtype) + 0.5 - translation) / scale - 0.5
    distance = tf.abs(place - tf.expand_dims(tf.range(size, dtype=scale.dtype), 1))
    if antialias:
        distance = distance / tf.maximum(1 / scale, 1)
    weights = kernel(distance)
    total = tf.reduce_sum(weights, 0, keepdims=True)
    counts = tf.logical_and(tf.abs(total) > 1000 * 1.1920929e-07, tf.logical_and(place >= -0.5, place <= size - 0.5))
    return tf.where(counts, weights / tf.where(counts, total, 1.0), 0.0)


def scale_and_translate(images, output_shape, scale, translation, spatial_dims, method, antialias=True):
    one_of("method", method, _KERNELS)
    images, scale, translation = map(convert_to_tensor, (images, scale, translation))
    dtype = scale.dtype.name
    if dtype != translation.dtype.name or not scale.dtype.is_floating:
        dtype = dtypes.result_type(dtype, translation.dtype.name, float)
        scale, translation = tf.cast(scale, dtype), tf.cast(translation, dtype)
    result = images if images.dtype.is_floating else tf.cast(images, dtype)
    for place, axis in enumerate(spatial_dims):
        weights = _weights(images.shape[axis], output_shape[axis], scale[place], translation[place], _KERNELS[method], antialias)
        axis %= images.ndim
        mixed = tf.tensordot(result, tf.cast(weights, result.dtype), [[axis], [0]])
        rest = [*range(axis), images.ndim - 1, *range(axis, images.ndim - 1)]
        result = tf.transpose(mixed, rest)
    return result
