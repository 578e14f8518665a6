"""Colour spaces, and conversion between integer and float images. Channels are the last axis."""

from gradtape._src.core.base.errors import invalid, unmet
from gradtape._src.core.base.public import public
from gradtape._src.core.declarations.define import gradient, not_differentiable, op
from gradtape._src.core.platform.arrays import jnp
from gradtape._src.core.tensors.convert import tensor
from gradtape._src.core.tensors.tensor import Tensor, extents_of
from gradtape._src.core.values import dtypes
from gradtape._src.ops.array.cast import cast
from gradtape._src.ops.array.joining import stack, unstack
from gradtape._src.ops.array.rearrange import tile
from gradtape._src.ops.array.shape import expand_dims, identity, plain
from gradtape._src.ops.floats import wide
from gradtape._src.ops.linalg.matmul import tensordot
from gradtape._src.ops.math.arithmetic import reciprocal_no_nan
from gradtape._src.ops.math.clip import saturate_cast
from gradtape._src.ops.math.rounding import floordiv
from gradtape._src.ops.shapes import FLOATING, require

# ---------------------------------------------------------------------------------------------------------------------
# Hue, saturation and value


def _pixels(images):
    require(images, FLOATING)
    if not images.ndim:
        raise invalid(f"input must be at least 1D: received shape {plain(images.shape)}.")
    if images.shape[-1] != 3:
        raise unmet(f"input must have 3 channels but input only has {images.shape[-1]} channels: {plain(images.shape)}.")
    return images


def hue_range_value(images):
    """Return the hue in [0, 1), the range between the least and the greatest colour, and the greatest, without the last axis."""
    red, green, blue = [images[..., channel] for channel in range(3)]
    value = jnp.maximum(jnp.maximum(red, green), blue)
    span = value - jnp.minimum(jnp.minimum(red, green), blue)
    grey = span <= 0
    scale = 1 / (6 * jnp.where(grey, jnp.ones_like(span), span))
    green_or_blue = jnp.where(green == value, scale * (blue - red) + 2 / 6, scale * (red - green) + 4 / 6)
    hue = jnp.where(grey, jnp.zeros_like(span), jnp.where(red == value, scale * (green - blue), green_or_blue))
    return jnp.where(hue < 0, hue + 1, hue), span, value


def purity(hue):
    """Return the red, green and blue parts of a hue in [0, 1], between 0 and 1: [..., 3]."""
    hue = hue * 6
    parts = [jnp.abs(hue - 3) - 1, 2 - jnp.abs(hue - 2), 2 - jnp.abs(hue - 4)]
    return jnp.clip(jnp.stack(parts, -1), 0, 1)


@op("RGBToHSV", infer=_pixels, saves="images", prefers="float32")
def rgb_to_hsv(images):
    """Convert red, green and blue to hue, saturation and value, all in [0, 1]. A floating dtype; the last axis has extent 3.

    >>> tf.image.rgb_to_hsv([[[1.0, 0.0, 0.0]]]).numpy().ravel()
    array([0., 1., 1.], dtype=float32)
    """
    hue, span, value = hue_range_value(wide(images))
    saturation = jnp.where(value > 0, span / jnp.where(value > 0, value, jnp.ones_like(value)), jnp.zeros_like(value))
    return jnp.stack([hue, saturation, value], -1).astype(images.dtype)


@gradient(rgb_to_hsv)
def _(dy, images):
    """Let max and min be the greatest and the least colour; M and m are 1 at their positions, and 0 elsewhere:

    value = max; saturation = 1 − min/max; 6·hue = (x₊ − x₋)/(max − min) + constant, x₊ and x₋ the colours that follow the
    greatest in the circle. The gradient is 0 where a denominator is 0; that of saturation is 0 where max ≤ 0.
    """
    dtype, colours = images.dtype, unstack(images, axis=-1)
    red, green, blue = colours
    greatest = [(red >= green) & (red >= blue), (green > red) & (green >= blue), (blue > red) & (blue > green)]
    least = [(red < blue) & (red < green), (green <= red) & (green < blue), (blue <= red) & (blue <= green)]
    greatest, least = [[cast(place, dtype) for place in places] for places in (greatest, least)]
    most = sum(part * colour for part, colour in zip(greatest, colours, strict=True))
    fewest = sum(part * colour for part, colour in zip(least, colours, strict=True))
    coloured = cast(most > 0, dtype)
    over_span = coloured * reciprocal_no_nan(most - fewest)
    slope = sum(part * (colours[i - 2] - colours[i - 1]) for i, part in enumerate(greatest)) * over_span
    to_hue, to_saturation, to_value = unstack(dy, axis=-1)
    parts = []
    for i, colour in enumerate(colours):
        in_hue = (greatest[i - 1] - greatest[i - 2] - slope * (greatest[i] - least[i])) * over_span / 6
        in_saturation = (greatest[i] * fewest * reciprocal_no_nan(most) - least[i]) * reciprocal_no_nan(most)
        parts.append(to_hue * in_hue + to_saturation * in_saturation * cast(colour > 0, dtype) + to_value * greatest[i])
    return stack(parts, axis=-1)


@op("HSVToRGB", infer=_pixels, prefers="float32")
def hsv_to_rgb(images):
    """Convert hue, saturation and value to red, green and blue, all in [0, 1]. As in TensorFlow, there is no gradient.

    >>> tf.image.hsv_to_rgb([[[0.0, 1.0, 1.0]]]).numpy().ravel()
    array([1., 0., 0.], dtype=float32)
    """
    x = wide(images)
    saturation, value = x[..., 1:2], x[..., 2:3]
    return (((1 - saturation) + saturation * purity(x[..., 0])) * value).astype(images.dtype)


not_differentiable(
    hsv_to_rgb, because="TensorFlow gives hsv_to_rgb none: write it with tf.abs and tf.clip_by_value, which have gradients"
)


# ---------------------------------------------------------------------------------------------------------------------
# Linear spaces

RGB_TO_YIQ = ((0.299, 0.59590059, 0.2115), (0.587, -0.27455667, -0.52273617), (0.114, -0.32134392, 0.31119955))
YIQ_TO_RGB = ((1, 1, 1), (0.95598634, -0.27201283, -1.10674021), (0.6208248, -0.64720424, 1.70423049))
RGB_TO_YUV = ((0.299, -0.14714119, 0.61497538), (0.587, -0.28886916, -0.51496512), (0.114, 0.43601035, -0.10001026))
YUV_TO_RGB = ((1, 1, 1), (0, -0.394642334, 2.03206185), (1.13988303, -0.58062185, 0))
LUMINANCE = (0.2989, 0.587, 0.114)


def _converted(images, kernel):
    images = tensor(images)
    return tensordot(images, tensor(kernel, images.dtype), [[images.ndim - 1], [0]])


@public
def rgb_to_yiq(images):
    """Convert red, green and blue in [0, 1] to luma and the chroma of NTSC. A floating dtype; the last axis has extent 3.

    >>> print(tf.image.rgb_to_yiq(tf.constant([[[1.0, 1.0, 1.0], [1.0, 0.0, 0.0]]])).numpy().round(3) + 0)
    [[[1.    0.    0.   ]
      [0.299 0.596 0.212]]]
    """
    return _converted(images, RGB_TO_YIQ)


@public
def yiq_to_rgb(images):
    """Invert `rgb_to_yiq`. A floating dtype; the last axis has extent 3.

    >>> print(tf.image.yiq_to_rgb(tf.constant([[[0.299, 0.596, 0.211]]])).numpy().round(2) + 0)
    [[[1. 0. 0.]]]
    """
    return _converted(images, YIQ_TO_RGB)


@public
def rgb_to_yuv(images):
    """Convert red, green and blue in [0, 1] to luma and the chroma of PAL. A floating dtype; the last axis has extent 3.

    >>> print(tf.image.rgb_to_yuv(tf.constant([[[1.0, 1.0, 1.0]]])).numpy().round(3))
    [[[1. 0. 0.]]]
    """
    return _converted(images, RGB_TO_YUV)


@public
def yuv_to_rgb(images):
    """Invert `rgb_to_yuv`. A floating dtype; the last axis has extent 3.

    >>> yuv = tf.image.rgb_to_yuv(tf.constant([[[0.25, 0.5, 1.0]]]))
    >>> print(tf.image.yuv_to_rgb(yuv).numpy().round(3))
    [[[0.25 0.5  1.  ]]]
    """
    return _converted(images, YUV_TO_RGB)


@public
def rgb_to_grayscale(images, name=None) -> Tensor:
    """Return the luminance of each pixel, in the dtype of `images`; the last axis becomes 1.

    >>> tf.image.rgb_to_grayscale(tf.ones([2, 2, 3])).shape
    TensorShape([2, 2, 1])
    """
    images = tensor(images)
    colours = as_floats(images)
    grey = tensordot(colours, tensor(LUMINANCE, colours.dtype), [-1, -1])
    return convert_image_dtype(expand_dims(grey, -1), images.dtype)


@public
def grayscale_to_rgb(images, name=None):
    """Repeat the last axis, of extent 1, three times, which converts grey pixels to coloured ones.

    >>> tf.image.grayscale_to_rgb(tf.zeros([2, 2, 1])).shape
    TensorShape([2, 2, 3])
    """
    images = tensor(images)
    if images.ndim < 2:
        raise ValueError(f"A grayscale image (shape {images.shape}) must be at least two-dimensional.")
    if extents_of(images)[-1] != 1:
        raise ValueError(f"Last dimension of a grayscale image should be size 1. Received shape {images.shape}.")
    return tile(images, [1] * (images.ndim - 1) + [3])


# ---------------------------------------------------------------------------------------------------------------------
# Integers and floats


@public
def convert_image_dtype(image, dtype, saturate=False, name=None):
    """Return `image` in `dtype`, scaled: integers go from 0 to the greatest of their type, floats from 0 to 1.

    `saturate` clips values out of range; else they wrap around. AttributeError for dtypes other than integers and floats.

    >>> tf.image.convert_image_dtype(tf.constant([[[0, 255]]], tf.uint8), tf.float32).numpy().ravel()
    array([0., 1.], dtype=float32)
    """
    image, dtype = tensor(image), dtypes.as_dtype(dtype)
    for what, type in (("dtype", dtype), ("image dtype", image.dtype)):
        if not (type.is_floating or type.is_integer):
            raise AttributeError(f"{what} must be either floating point or integer. Received {type.name}.")
    change = saturate_cast if saturate else cast
    if dtype == image.dtype:
        return identity(image)
    if image.dtype.is_floating and dtype.is_floating:
        return cast(image, dtype)
    if dtype.is_floating:
        return cast(image, dtype) * (1.0 / image.dtype.max)
    if image.dtype.is_floating:
        return change(image * (dtype.max + 0.5), dtype)
    values, others = int(image.dtype.max) + 1, int(dtype.max) + 1
    if values > others:
        return change(floordiv(image, values // others), dtype)
    return change(image, dtype) * (others // values)


def as_floats(image):
    """Convert `image` to the floating dtype to compute in: its own, or float32 for integers and bfloat16."""
    kept = image.dtype in (dtypes.float16, dtypes.float32, dtypes.float64)
    return image if kept else convert_image_dtype(image, dtypes.float32)
