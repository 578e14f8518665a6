"""Glimpses: windows of images around given points, with noise outside of the image."""

from gradtape._src.core.base.errors import invalid
from gradtape._src.core.base.public import public
from gradtape._src.core.tensors.convert import static_list, tensor
from gradtape._src.core.values import dtypes
from gradtape._src.ops.array.cast import cast
from gradtape._src.ops.array.creation import range_, zeros_like
from gradtape._src.ops.array.gather import gather
from gradtape._src.ops.array.select import where
from gradtape._src.ops.array.shape import expand_dims, plain, reshape, stop_gradient
from gradtape._src.ops.math.clip import clip_by_value
from gradtape._src.ops.math.compare import is_nan, logical_and
from gradtape._src.ops.math.reduction import reduce_max, reduce_mean, reduce_min, reduce_std
from gradtape._src.ops.random.draws import normal, uniform


def _checked(image, size, offsets):
    """Return images, (height, width) and offsets; InvalidArgumentError unless their shapes fit."""
    image, offsets = tensor(image, dtypes.float32), tensor(offsets, dtypes.float32)
    window = static_list(size, "size")
    if image.ndim != 4:
        raise invalid(f"input must be 4-dimensional (batch_size, height, width, depth), received {plain(image.shape)}")
    if len(window) != 2:
        raise invalid(f"size must be a vector of size 2 (height, width), received {list(window)}")
    for extent in window:
        if extent < 0:
            raise invalid(f"Expected a non-negative size, got {extent}")
    batch = image.node.aval.shape[0]
    if offsets.node.aval.shape != (batch, 2):
        raise invalid(f"offsets must be (y, x) for each of {batch} images, received shape {plain(offsets.shape)}")
    return image, window, offsets


def _first(x, extent, window, centered, normalized):
    """Return the start of a window along one axis, in pixels, for its offsets."""
    if not normalized:
        return x + extent / 2 if centered else x
    x = x * extent
    return x / 2 + (extent - window) / 2 if centered else x


def _first_v1(x, extent, window, centered, normalized):
    """Return the start of a window as in TensorFlow 1: half a window before the offset, which is halved if `centered`."""
    if normalized:
        x = x * extent
    return (x / 2 + extent / 2 if centered else x) - window / 2


def _noise(image, shape, noise):
    """Return the noise for the area outside of each image, in the range of its values, or zeros."""
    if noise == "zero":
        return zeros_like(image[:1, :1, :1, :1])
    image = stop_gradient(image)
    if noise == "uniform":
        least, most = [f(image, (1, 2, 3), keepdims=True) for f in (reduce_min, reduce_max)]
        return least + uniform(shape) * (most - least)
    least, most, mean, deviation = [f(image, (1, 2), keepdims=True) for f in (reduce_min, reduce_max, reduce_mean, reduce_std)]
    return clip_by_value(mean + normal(shape) * deviation, least, most)


def _glimpses(image, window, offsets, first, noise):
    """Return the windows that start at `first(offsets, …)` along each axis."""
    batch, *extents, channels = image.node.aval.shape
    found, inside = image, []
    for axis, (extent, size) in enumerate(zip(extents, window, strict=True)):
        start = first(offsets[:, axis], extent, size)
        start = where(is_nan(start), -1.0 * size, clip_by_value(start, -1.0 * size, 1.0 * extent))
        places = expand_dims(cast(start, dtypes.int32), 1) + range_(size)
        found = gather(found, clip_by_value(places, 0, extent - 1), axis=axis + 1, batch_dims=1)
        along = [batch, size, 1, 1] if axis == 0 else [batch, 1, size, 1]
        inside.append(reshape(logical_and(places >= 0, places < extent), along))
    return where(logical_and(*inside), found, _noise(image, [batch, *window, channels], noise))


@public
def extract_glimpse(input, size, offsets, centered=True, normalized=True, noise="uniform", name=None):
    """Return a window of `size` (height, width) of each image at its offset (y, x): [batch, *size, channels], float32.

    `input` is [batch, height, width, channels], `offsets` [batch, 2], both float32. An offset of 1 is a whole height or width
    if `normalized`, else a pixel. If `centered`, 0 is the centre of the image; normalized offsets go from -1 to 1, and are the
    centre of the window. Else an offset is the window's upper left corner. Fractions of pixels are cut off.

    The area outside of an image is filled with `noise`: "uniform" or "gaussian", both in the range of its values, or "zero".
    Gradients go to the pixels inside. InvalidArgumentError for other shapes and noises.

    >>> x = tf.reshape(tf.range(9.0), [1, 3, 3, 1])
    >>> tf.image.extract_glimpse(x, (2, 2), [[1, 1]], centered=False, normalized=False)[0, :, :, 0].numpy().tolist()
    [[4.0, 5.0], [7.0, 8.0]]
    """
    if noise not in ("uniform", "gaussian", "zero"):
        raise invalid(f"The noise could only be uniform, gaussian, or zero, got {noise}")
    image, window, offsets = _checked(input, size, offsets)
    return _glimpses(image, window, offsets, lambda x, extent, side: _first(x, extent, side, centered, normalized), noise)


@public
def extract_glimpse_v1(input, size, offsets, centered=True, normalized=True, uniform_noise=True, name=None):
    """Return glimpses as in TensorFlow 1: the offset is always the centre of a window."""
    image, window, offsets = _checked(input, size, offsets)
    noise = "uniform" if uniform_noise else "gaussian"
    return _glimpses(image, window, offsets, lambda x, extent, side: _first_v1(x, extent, side, centered, normalized), noise)
