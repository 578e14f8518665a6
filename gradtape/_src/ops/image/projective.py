"""Images seen through projective transforms."""

from __future__ import annotations

from gradtape._src.core.base.errors import invalid
from gradtape._src.core.base.public import public
from gradtape._src.core.tensors.convert import static_list, tensor
from gradtape._src.core.values import dtypes
from gradtape._src.ops.array.cast import cast
from gradtape._src.ops.array.creation import range_
from gradtape._src.ops.array.gather import gather
from gradtape._src.ops.array.joining import unstack
from gradtape._src.ops.array.select import where
from gradtape._src.ops.array.shape import expand_dims, plain, reshape
from gradtape._src.ops.math.arithmetic import abs as absolute, sign
from gradtape._src.ops.math.clip import clip_by_value
from gradtape._src.ops.math.compare import logical_and
from gradtape._src.ops.math.rounding import floor

MODES = ("CONSTANT", "REFLECT", "WRAP", "NEAREST")
WAYS = ("NEAREST", "BILINEAR")


def _checked(images, transforms, size, interpolation, fill_mode):
    """Return images, transforms and (height, width); InvalidArgumentError unless the op takes them."""
    images, transforms, size = tensor(images), tensor(transforms, dtypes.float32), static_list(size, "output_shape")
    if images.ndim != 4:
        raise invalid(f"input images must be 4-dimensional [batch, height, width, channels], received {plain(images.shape)}.")
    batch, rows = images.node.aval.shape[0], transforms.node.aval.shape
    if len(rows) != 2 or rows[1] != 8 or rows[0] not in (1, batch):
        raise invalid(f"input transform should be [1, 8] or [{batch}, 8], received shape {plain(transforms.shape)}.")
    if len(size) != 2 or min(size) <= 0:
        raise invalid(f"new dimensions must be positive: output_shape is (height, width), received {list(size)}.")
    for name, given, known in (("interpolation", interpolation, WAYS), ("fill_mode", fill_mode, MODES)):
        if given not in known:
            raise invalid(f"Invalid {name} {given}. Expected one of {', '.join(known)}.")
    return images, transforms, size


def _mapped(place, extent, mode):
    """Return positions on an axis of `extent` pixels, those outside of it as `mode` maps them."""
    if mode == "CONSTANT":
        return place
    if mode == "REFLECT":  # c b a | a b c | c b a
        place = place % (2.0 * extent)
        place = where(place < extent, place, 2.0 * extent - 1 - place)
    if mode == "WRAP":
        span = max(extent - 1.0, 1.0)
        later = place - extent * floor(place / span)
        place = where(place < 0, place + extent * (floor(-place / span) + 1), where(place > extent - 1, later, place))
    return clip_by_value(place, 0.0, extent - 1.0)


def _pixels(place, interpolation):
    """Return the pixels of an axis that a position is between: each as its number and its weight, None for 1."""
    if interpolation == "NEAREST":
        return [(floor(absolute(place) + 0.5) * sign(place), None)]
    low = floor(place)
    return [(low, low + 1 - place), (low + 1, place - low)]


def _read(rows, extents, y, x, fill_value):
    """Return pixels (y, x) of images, [batch or 1, height, width, channels], and `fill_value` outside of them."""
    batch, height, width = extents
    inside = logical_and(logical_and(y >= 0, y < height), logical_and(x >= 0, x < width))
    y, x = [cast(clip_by_value(at, 0.0, extent - 1.0), dtypes.int32) for at, extent in ((y, height), (x, width))]
    index = (reshape(range_(batch), [-1, 1, 1]) * height + y) * width + x
    return where(expand_dims(inside, -1), gather(rows, index), fill_value)


def _weighted(pixels, axis, read):
    """Return the mean of pixels along one axis, by their weights."""
    if pixels[0][1] is None:
        return read(pixels[0][0])
    first, second = [expand_dims(weight, axis) * read(at) for at, weight in pixels]
    return first + second


@public
def ImageProjectiveTransformV3(*, images, transforms, output_shape, fill_value, interpolation, fill_mode="CONSTANT", name=None):
    """Return images seen through projective transforms: a new pixel (x, y) is an old pixel (x', y').

    With k = c₀x + c₁y + 1, x' is (a₀x + a₁y + a₂) / k. So y' is (b₀x + b₁y + b₂) / k.

    `images` is [batch, height, width, channels]; `transforms` is float32, and has a row for each image, or one for all:
    a₀ a₁ a₂ b₀ b₁ b₂ c₀ c₁. `output_shape` is the new (height, width). `interpolation` is "NEAREST" or "BILINEAR".

    `fill_mode` says what is outside of an image: `fill_value` for "CONSTANT", the nearest pixel for "NEAREST". For "WRAP" the
    image comes again, for "REFLECT" its mirror image. InvalidArgumentError for other shapes, interpolations and modes.

    Gradients are those of the interpolation, to images and transforms. TensorFlow's are images seen through the inverse
    transforms.

    >>> x, right = tf.reshape(tf.range(4.0), [1, 2, 2, 1]), [[1.0, 0, -1, 0, 1, 0, 0, 0]]
    >>> moved = tf.raw_ops.ImageProjectiveTransformV3(
    ...     images=x, transforms=right, output_shape=[2, 2], fill_value=9.0, interpolation="NEAREST"
    ... )
    >>> moved[0, :, :, 0].numpy().tolist()
    [[9.0, 0.0], [9.0, 2.0]]
    """
    images, transforms, size = _checked(images, transforms, output_shape, interpolation, fill_mode)
    batch, *extents, channels = images.node.aval.shape
    y, x = reshape(range_(float(size[0])), [-1, 1]), range_(float(size[1]))
    a0, a1, a2, b0, b1, b2, c0, c1 = [reshape(t, [-1, 1, 1]) for t in unstack(transforms, axis=1)]
    k = c0 * x + c1 * y + 1.0
    seen = where(k == 0, 1.0, k)
    at_y = _pixels(_mapped((b0 * x + b1 * y + b2) / seen, extents[0], fill_mode), interpolation)
    at_x = _pixels(_mapped((a0 * x + a1 * y + a2) / seen, extents[1], fill_mode), interpolation)
    rows = reshape(images, [-1, channels])
    rows = rows if interpolation == "NEAREST" else cast(rows, dtypes.float32)
    fill = cast(cast(cast(fill_value, dtypes.float32), images.dtype), rows.dtype)

    def line(i):
        return _weighted(at_x, -1, lambda j: _read(rows, (batch, *extents), i, j, fill))

    found = _weighted(at_y, -1, line)
    return cast(where(expand_dims(k == 0, -1), fill, found), images.dtype)
