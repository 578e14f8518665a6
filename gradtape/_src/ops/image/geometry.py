"""Flips, rotations, crops and padding of images, which are [height, width, channels] or [batch, height, width, channels]."""

from gradtape._src.core.base.errors import invalid
from gradtape._src.core.base.public import public
from gradtape._src.core.engine import engine
from gradtape._src.core.tensors.convert import is_tensor, node_of, static, static_list, tensor
from gradtape._src.core.tensors.tensor import Tensor, to_numpy
from gradtape._src.ops.array.cast import cast
from gradtape._src.ops.array.indexing import _slice, slice_
from gradtape._src.ops.array.rearrange import pad, reverse
from gradtape._src.ops.array.shape import expand_dims, plain, squeeze, transpose as transposed
from gradtape._src.ops.debugging.checks import Assert


def shape_of(image):
    """Format the shape of an image as in TensorFlow's messages."""
    return f"'image' (shape {image.shape})"


def at_least_3d(image):
    """Convert `image` to a Tensor; ValueError unless it has at least three axes and none of the last three is empty."""
    image = tensor(image)
    if image.ndim < 3:
        raise ValueError(f"{shape_of(image)} must be at least three-dimensional: [..., height, width, channels].")
    if 0 in image.node.aval.shape[-3:]:
        raise ValueError(f"inner 3 dims of 'image.shape' must be > 0: {image.shape}")
    return image


def of_rank_3_or_4(image):
    """Return `image`; ValueError unless it is one image or a batch of them."""
    if image.ndim not in (3, 4):
        raise ValueError(f"{shape_of(image)} must have either 3 or 4 dimensions: [height, width, channels], or with a batch.")
    return image


def batched(image):
    """Add a batch axis to a single image; ValueError if the rank is wrong or an image is empty."""
    of_rank_3_or_4(image)
    return at_least_3d(expand_dims(image, 0) if image.ndim == 3 else image)


def unbatched(result, image):
    """Remove the batch axis of the result of `batched(image)`, if that has added it."""
    return result if image.ndim == 4 else squeeze(result, [0])


def known(value):
    """Return a number, or a Tensor's value as one; None if the value takes a long program, or is unknown while tracing."""
    if not is_tensor(value):
        return value
    node = tensor(value).node
    engine.peek(node)
    return None if node.value is None else to_numpy(node).item()


def require(condition, message, *values):
    """Raise unless `condition` holds: ValueError, or InvalidArgumentError if it is a Tensor."""
    if is_tensor(condition):
        engine.peek(condition.node)
        Assert(condition, [message, *values])
    elif not condition:
        raise ValueError(f"{message} Received {', '.join(map(str, values))}.")


def positive_target(target_height, target_width):
    """Convert the two arguments to ints above 0."""
    target = static(target_height, "target_height"), static(target_width, "target_width")
    require(target[1] > 0, "target_width must be > 0.", target[1])
    require(target[0] > 0, "target_height must be > 0.", target[0])
    return target


def _offsets(offset_height, offset_width):
    """Convert the two arguments to ints or int32 Tensors that are not negative."""
    offsets = [
        cast(tensor(value), "int32") if is_tensor(value) else static(value, name)
        for name, value in (("offset_height", offset_height), ("offset_width", offset_width))
    ]
    require(offsets[1] >= 0, "offset_width must be >= 0.", offsets[1])
    require(offsets[0] >= 0, "offset_height must be >= 0.", offsets[0])
    return offsets


def _window(batch, begin, size):
    """Return the part of a batch of images from `begin` (ints or Tensors), of `size`; both are (rows, columns)."""
    count, *extents, channels = batch.node.aval.shape
    axes = tuple([axis for axis in (1, 2) if size[axis - 1] != extents[axis - 1]])
    starts = [cast(tensor(begin[axis - 1]), "int32") for axis in axes]
    return _slice(batch, *starts, axes=axes, size=(count, *size, channels)) if axes else batch


# ---------------------------------------------------------------------------------------------------------------------
# Flips and rotations


def mirrored(image, axis):
    """Flip a valid image along `axis` of a single image: 0 for its rows, 1 for its columns."""
    return reverse(image, [axis + image.ndim - 3])


def exchanged(image):
    """Swap rows and columns of a valid image."""
    return transposed(image, [1, 0, 2] if image.ndim == 3 else [0, 2, 1, 3])


@public
def flip_left_right(image) -> Tensor:
    """Reverse the order of the columns, which mirrors the image. Shape and dtype are kept.

    >>> tf.image.flip_left_right([[[1], [2]]]).numpy().ravel()
    array([2, 1], dtype=int32)
    """
    return mirrored(of_rank_3_or_4(at_least_3d(image)), 1)


@public
def flip_up_down(image) -> Tensor:
    """Reverse the order of the rows, which turns the image upside down. Shape and dtype are kept.

    >>> tf.image.flip_up_down([[[1]], [[2]]]).numpy().ravel()
    array([2, 1], dtype=int32)
    """
    return mirrored(of_rank_3_or_4(at_least_3d(image)), 0)


@public
def rot90(image, k=1, name=None):
    """Rotate the image counter-clockwise by `k` quarter turns.

    >>> tf.image.rot90([[[1], [2]], [[3], [4]]]).numpy().ravel()
    array([2, 4, 1, 3], dtype=int32)
    """
    image, k = at_least_3d(image), tensor(k, "int32")
    if k.ndim:
        raise ValueError(f"Shape {k.shape} must have rank 0: k is a number of quarter turns.")
    turns = static(k, "k") % 4
    of_rank_3_or_4(image)
    if turns == 1:
        return exchanged(mirrored(image, 1))
    if turns == 2:
        return mirrored(mirrored(image, 0), 1)
    return mirrored(exchanged(image), 1) if turns == 3 else image


@public
def transpose(image, name=None):
    """Swap rows and columns of the image.

    >>> tf.image.transpose([[[1], [2]], [[3], [4]]]).numpy().ravel()
    array([1, 3, 2, 4], dtype=int32)
    """
    return exchanged(of_rank_3_or_4(at_least_3d(image)))


# ---------------------------------------------------------------------------------------------------------------------
# Crops and padding


@public
def crop_to_bounding_box(image, offset_height, offset_width, target_height, target_width):
    """Return the part of `image` of the target's height and width, with its upper left corner at the offsets.

    ValueError if it is not within the image, InvalidArgumentError if an offset is a tensor.

    >>> tf.image.crop_to_bounding_box(tf.zeros([4, 4, 3]), 1, 1, 2, 3).shape
    TensorShape([2, 3, 3])
    """
    image = tensor(image)
    batch = batched(image)
    _, height, width, _ = batch.node.aval.shape
    top, left = _offsets(offset_height, offset_width)
    rows, columns = positive_target(target_height, target_width)
    require(left + columns <= width, "width must be >= target + offset.", width, columns, left)
    require(top + rows <= height, "height must be >= target + offset.", height, rows, top)
    return unbatched(_window(batch, (top, left), (rows, columns)), image)


@public
def pad_to_bounding_box(image, offset_height, offset_width, target_height, target_width):
    """Pad `image` with zeros to the target's height and width, with its upper left corner at the offsets.

    ValueError if `image` does not fit, InvalidArgumentError if an offset is a tensor.

    >>> tf.image.pad_to_bounding_box(tf.zeros([2, 2, 3]), 1, 1, 4, 4).shape
    TensorShape([4, 4, 3])
    """
    image = tensor(image)
    batch = batched(image)
    _, height, width, _ = batch.node.aval.shape
    top, left = _offsets(offset_height, offset_width)
    rows, columns = static(target_height, "target_height"), static(target_width, "target_width")
    require(left + width <= columns, "width must be <= target - offset.", width, columns, left)
    require(top + height <= rows, "height must be <= target - offset.", height, rows, top)
    if is_tensor(top) or is_tensor(left):  # cut out of an image with the largest possible padding
        down, across = rows - height, columns - width
        padded = pad(batch, [[0, 0], [down, down], [across, across], [0, 0]])
        return unbatched(_window(padded, (down - top, across - left), (rows, columns)), image)
    margins = [[0, 0], [top, rows - top - height], [left, columns - left - width], [0, 0]]
    return unbatched(pad(batch, margins), image)


@public
def resize_with_crop_or_pad(image, target_height, target_width):
    """Crop `image` centrally, or pad it with zeros on both sides, along each axis to the target's extent.

    >>> tf.image.resize_with_crop_or_pad(tf.zeros([2, 5, 3]), 4, 4).shape
    TensorShape([4, 4, 3])
    """
    image = tensor(image)
    batch = batched(image)
    target = positive_target(target_height, target_width)
    extents = batch.node.aval.shape[1:3]
    cropped = [max((extent - goal) // 2, 0) for goal, extent in zip(target, extents, strict=True)]
    kept = [min(goal, extent) for goal, extent in zip(target, extents, strict=True)]
    padded = [max((goal - extent) // 2, 0) for goal, extent in zip(target, extents, strict=True)]
    return unbatched(pad_to_bounding_box(crop_to_bounding_box(batch, *cropped, *kept), *padded, *target), image)


@public
def central_crop(image, central_fraction):
    """Return the centre of `image`: `central_fraction`, in (0, 1], of its height and of its width.

    >>> tf.image.central_crop(tf.ones([4, 4, 3]), 0.5).shape
    TensorShape([2, 2, 3])
    """
    image = tensor(image)
    fraction = to_numpy(node_of(central_fraction)).item() if is_tensor(central_fraction) else central_fraction
    require(0.0 < fraction <= 1.0, "central_fraction must be within (0, 1].", fraction)
    if fraction == 1.0:
        return image
    at_least_3d(image)
    if image.ndim > 4:
        raise ValueError(f"`image` should either be a Tensor with rank = 3 or rank = 4. Had rank = {image.ndim}.")
    first = image.ndim - 3
    begin, size = [0] * image.ndim, list(image.node.aval.shape)
    for axis in (first, first + 1):
        begin[axis] = int((size[axis] - size[axis] * fraction) / 2)
        size[axis] -= 2 * begin[axis]
    return slice_(image, begin, size)


def crop_size(value, size):
    """Convert `size` to a tuple of extents; InvalidArgumentError if one is above that of `value`."""
    size, shape = static_list(size, "size"), value.node.aval.shape
    if len(size) != len(shape):
        raise invalid(
            f"Incompatible shapes: [{len(shape)}] vs. [{len(size)}]: size must have an entry for each axis of {plain(shape)}."
        )
    if any(not 0 <= want <= have for want, have in zip(size, shape, strict=True)):
        raise invalid(f"Need value.shape >= size, got {plain(shape)} and {plain(size)}.")
    return size
