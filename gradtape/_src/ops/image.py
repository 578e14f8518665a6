"""Images: [..., height, width, channels]."""

import jax.numpy as jnp

from gradtape._src.core.convert import tensor
from gradtape._src.core.define import op
from gradtape._src.core.errors import invalid, public
from gradtape._src.ops.cast import cast
from gradtape._src.ops.clip import saturate_cast


def _contrast_aval(images, contrast_factor):
    if images.ndim < 3:
        raise invalid(f"input must be at least 3-D, got shape {list(images.shape)}: [..., height, width, channels].")
    return images


@op("AdjustContrastv2", infer=_contrast_aval, mixed=True)
def _adjust_contrast(images, contrast_factor):
    mean = jnp.mean(images, axis=(-3, -2), keepdims=True, dtype=images.dtype)
    return (images - mean) * contrast_factor.astype(images.dtype) + mean


@public
def adjust_contrast(images, contrast_factor):
    """`(x − mean) · contrast_factor + mean`, the mean of each channel of each image; shape and dtype of `images`.

    Integer images are computed in float32 and saturated. As in TensorFlow the op has no gradient.
    """
    images = tensor(images)
    if images.dtype.is_floating:
        return _adjust_contrast(images, contrast_factor)
    return saturate_cast(_adjust_contrast(cast(images, "float32"), contrast_factor), images.dtype)
