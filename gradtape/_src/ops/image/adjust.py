"""Brightness, contrast, gamma, hue and saturation of images, and standardization."""

from math import prod

import numpy as np

from gradtape._src.core.base.errors import invalid
from gradtape._src.core.base.public import public
from gradtape._src.core.declarations.define import op
from gradtape._src.core.platform.arrays import jnp
from gradtape._src.core.tensors.convert import is_tensor, tensor
from gradtape._src.core.tensors.tensor import Tensor
from gradtape._src.core.values.aval import aval
from gradtape._src.core.values.dtypes import spoken_name
from gradtape._src.ops.array.cast import cast
from gradtape._src.ops.array.shape import plain
from gradtape._src.ops.floats import mean_over, wide
from gradtape._src.ops.image.colour import as_floats, convert_image_dtype, hue_range_value, purity
from gradtape._src.ops.image.geometry import at_least_3d, known, require
from gradtape._src.ops.math.arithmetic import maximum, rsqrt
from gradtape._src.ops.math.elementary import pow
from gradtape._src.ops.math.reduction import reduce_mean, reduce_std
from gradtape._src.ops.shapes import FLOATING, require as require_dtype

FACTOR = aval((), np.dtype(np.float32))


def _adjusted(type, name, coloured=True):
    """Return the aval rule of an op on images and a scalar `name`; `coloured` images must have three channels."""

    def infer(images, factor):
        require_dtype(images, FLOATING)
        if factor.dtype != FACTOR.dtype:
            raise invalid(
                f"cannot compute {type} as input #1(zero-based) was expected to be a float tensor but is a "
                f"{spoken_name(factor.dtype)} tensor (use tf.cast)"
            )
        if images.ndim < 3:
            raise invalid(f"input must be at least 3-D, got shape {plain(images.shape)}: [..., height, width, channels].")
        if factor.ndim:
            raise invalid(f"{name} must be scalar: {plain(factor.shape)}. Give one number for all images.")
        if coloured and images.shape[-1] != 3:
            raise invalid(f"input must have 3 channels but instead has {images.shape[-1]} channels.")
        return images

    return infer


# As in TensorFlow, these three ops have no gradient: LookupError.
@op("AdjustContrastv2", infer=_adjusted("AdjustContrastv2", "contrast_factor", coloured=False), mixed=True)
def _adjust_contrast(images, contrast_factor):
    x = wide(images)
    mean = mean_over(x, (-3, -2), keepdims=True)
    return ((x - mean) * contrast_factor.astype(x.dtype) + mean).astype(images.dtype)


@op("AdjustHue", infer=_adjusted("AdjustHue", "delta"), mixed=True)
def _adjust_hue(images, delta):
    x = wide(images)
    hue, span, value = hue_range_value(x)
    hue = jnp.mod(hue + delta.astype(x.dtype), 1)
    return ((value - span)[..., None] + span[..., None] * purity(hue)).astype(images.dtype)


@op("AdjustSaturation", infer=_adjusted("AdjustSaturation", "scale"), mixed=True)
def _adjust_saturation(images, scale):
    x = wide(images)
    hue, span, value = hue_range_value(x)
    saturation = jnp.where(value > 0, span / jnp.where(value > 0, value, jnp.ones_like(value)), jnp.zeros_like(value))
    saturation = jnp.clip(saturation * scale.astype(x.dtype), 0, 1)[..., None]
    return (((1 - saturation) + saturation * purity(hue)) * value[..., None]).astype(images.dtype)


def _factor(value):
    """Convert a factor to a Tensor, a number to float32."""
    return value if is_tensor(value) else tensor(value, FACTOR.dtype)


def hue_turned(image, delta):
    """Apply `adjust_hue` with a `delta` that is known to be in [-1, 1]."""
    image = tensor(image)
    return convert_image_dtype(_adjust_hue(as_floats(image), _factor(delta)), image.dtype)


@public
def adjust_brightness(image, delta):
    """Return `image + delta`, in the dtype of `image`. The scalar `delta` is relative to the range [0, 1] of float images,
    also for integers, which are saturated.

    >>> tf.image.adjust_brightness([[[0.25]]], 0.5).numpy().ravel()
    array([0.75], dtype=float32)
    """
    image = tensor(image)
    floats = as_floats(image)
    change = cast(delta, floats.dtype) if is_tensor(delta) else delta
    return convert_image_dtype(floats + change, image.dtype, saturate=True)


@public
def adjust_contrast(images, contrast_factor):
    """Return `(x − mean) · contrast_factor + mean`, the mean of each channel of each image. Integers are saturated.

    As in TensorFlow the op has no gradient.

    >>> tf.image.adjust_contrast([[[1.0]], [[3.0]]], 2.0).numpy().ravel()
    array([0., 4.], dtype=float32)
    """
    images = tensor(images)
    return convert_image_dtype(_adjust_contrast(as_floats(images), _factor(contrast_factor)), images.dtype, saturate=True)


@public
def adjust_gamma(image, gamma=1, gain=1):
    """Return `gain · x ** gamma`, for x in [0, 1]. Integers are saturated. `gamma` must not be negative.

    >>> tf.image.adjust_gamma([[[0.5]]], gamma=2.0).numpy().ravel()
    array([0.25], dtype=float32)
    """
    image = tensor(image)
    require(gamma >= 0, "Gamma should be a non-negative real number.", gamma)
    return convert_image_dtype(gain * pow(as_floats(image), gamma), image.dtype, saturate=True)


@public
def adjust_hue(image, delta, name=None):
    """Add `delta`, a scalar in [-1, 1], to the hue of each pixel, modulo 1. Shape and dtype are kept.

    As in TensorFlow the op has no gradient.

    >>> print(tf.image.adjust_hue(tf.constant([[[1.0, 0.0, 0.0]]]), 1 / 3).numpy().round(3))
    [[[0. 1. 0.]]]
    """
    turn = known(delta)
    if turn is not None and not -1 <= turn <= 1:
        raise ValueError(f"delta must be in the interval [-1, 1]. Received {turn}.")
    return hue_turned(image, delta)


@public
def adjust_saturation(image, saturation_factor, name=None):
    """Multiply the saturation of each pixel by a scalar, and clip it to [0, 1]. Shape and dtype are kept.

    As in TensorFlow the op has no gradient.

    >>> tf.image.adjust_saturation(tf.ones([2, 2, 3]), 0.5).shape
    TensorShape([2, 2, 3])
    """
    image = tensor(image)
    return convert_image_dtype(_adjust_saturation(as_floats(image), _factor(saturation_factor)), image.dtype)


@public
def per_image_standardization(image) -> Tensor:
    """Return `(x − mean) / deviation` over all pixels and channels of each image, float32.

    The deviation is at least 1/√(number of values), so that an image of one colour becomes 0.

    >>> tf.image.per_image_standardization([[[1.0]], [[3.0]]]).numpy().ravel()
    array([-1.,  1.], dtype=float32)
    """
    image = cast(at_least_3d(image), "float32")
    count = tensor(prod(image.node.aval.shape[-3:]), "float32")
    axes = [-1, -2, -3]
    deviation = maximum(reduce_std(image, axes, keepdims=True), rsqrt(count))
    return (image - reduce_mean(image, axes, keepdims=True)) / deviation
