"""Crops of images, given as boxes in normalized coordinates, resampled to one size."""

import numpy as np

from gradtape._src.core.base.errors import InvalidArgumentError, OutOfRangeError, invalid
from gradtape._src.core.base.public import public
from gradtape._src.core.declarations.define import gradient, op
from gradtape._src.core.platform.arrays import at, jnp
from gradtape._src.core.tensors.convert import static_list, tensor
from gradtape._src.core.values.aval import aval
from gradtape._src.ops.array.cast import cast
from gradtape._src.ops.array.joining import stack
from gradtape._src.ops.array.points import gather_nd
from gradtape._src.ops.array.select import where
from gradtape._src.ops.array.shape import broadcast_to, host_constant, plain, reshape
from gradtape._src.ops.linalg.matmul import matmul
from gradtape._src.ops.math.arithmetic import maximum, minimum
from gradtape._src.ops.math.reduction import reduce_sum
from gradtape._src.ops.math.rounding import ceil, floor
from gradtape._src.ops.shapes import one_of, require

SINGLE = np.dtype(np.float32)
WHOLE = np.dtype(np.int32)
IMAGES = ("uint8", "uint16", "int8", "int16", "int32", "int64", "float16", "float32", "float64")
OUTSIDE = "box_index has values outside [0, batch_size)"


# ---------------------------------------------------------------------------------------------------------------------
# Positions of a crop's pixels. These functions take arrays and Tensors, so kernel and gradient agree on the positions.


def _shares(count, extent):
    """Return [count, 2]: the derivatives of each position along an axis, in pixels, with respect to the two ends of a box."""
    part = np.arange(count) / (count - 1) if count > 1 else np.full(1, 0.5)
    return (np.stack([1 - part, part], 1) * (extent - 1)).astype(SINGLE)


def _places(boxes, size, extent):
    """Return the positions of the crops' pixels on the image along each axis: [boxes, height] and [boxes, width]."""
    shares = [_shares(count, pixels) for count, pixels in zip(size, extent, strict=True)]
    return [boxes[:, axis, None] * share[:, 0] + boxes[:, axis + 2, None] * share[:, 1] for axis, share in enumerate(shares)]


def _inside(places, extent):
    """Return whether a pixel is inside of the image: [boxes, height, width, 1]."""
    rows, columns = [(place >= 0) & (place <= pixels - 1) for place, pixels in zip(places, extent, strict=True)]
    return rows[:, :, None, None] & columns[:, None, :, None]


def _pixels(place, extent):
    return jnp.clip(place, 0, extent - 1).astype(WHOLE)


def _sampled(boxes, box_ind, size, extent, method):
    """Yield (index into the images, weight) for each image pixel that contributes to a crop's pixel."""
    places = _places(boxes, size, extent)
    inside = _inside(places, extent)
    lines = []
    for place, pixels in zip(places, extent, strict=True):
        low = jnp.floor(place)
        if method == "nearest":
            lines.append([(_pixels(jnp.floor(place + 0.5), pixels), jnp.ones_like(place))])
        else:
            lines.append([(_pixels(low, pixels), 1 - (place - low)), (_pixels(jnp.ceil(place), pixels), place - low)])
    for row, row_weight in lines[0]:
        for column, column_weight in lines[1]:
            weight = row_weight[:, :, None, None] * column_weight[:, None, :, None]
            index = box_ind[:, None, None], row[:, :, None], column[:, None, :]
            yield index, jnp.where(inside, weight, jnp.zeros_like(weight))


# ---------------------------------------------------------------------------------------------------------------------
# Ops


def _check(image, boxes, box_ind):
    for what, x, rank in (("input image", image, 4), ("boxes", boxes, 2)):
        if x.ndim != rank:
            raise invalid(f"{what} must be {rank}-D, got: {plain(x.shape)}.")
    if 0 in image.shape[1:3]:
        raise invalid(f"image dimensions must be positive: received {plain(image.shape)}, [batch, height, width, channels].")
    _check_boxes(boxes, box_ind)


def _check_boxes(boxes, box_ind):
    if box_ind.ndim != 1:
        raise invalid(f"box_indices must be rank 1 but is shape {plain(box_ind.shape)}: give the number of each box's image.")
    if boxes.shape[1] != 4:
        raise invalid(f"boxes must have 4 columns, y1, x1, y2, x2: received {plain(boxes.shape)}.")
    if box_ind.shape[0] != boxes.shape[0]:
        raise invalid(f"box_index has incompatible shape: {plain(box_ind.shape)} for {boxes.shape[0]} boxes.")


def _crops_aval(image, boxes, box_ind, crop_size, method, extrapolation_value, batch):
    require(image, IMAGES)
    one_of(method, ("bilinear", "nearest"), "method")
    _check(image, boxes, box_ind)
    if len(crop_size) != 2:
        raise invalid(f"crop_size must have two elements, height and width: received {plain(crop_size)}.")
    if min(crop_size) < 1:
        raise invalid(f"crop dimensions must be positive: received {plain(crop_size)}.")
    return aval((boxes.shape[0], *crop_size, image.shape[3]), SINGLE)


def _refused(boxes, box_ind, batch):
    yield ~jnp.isfinite(boxes), "Boxes contains at least one element that is not finite."
    wrong = (box_ind < 0) | (box_ind >= batch)
    yield wrong, lambda: f"{OUTSIDE}: received {box_ind.min()} to {box_ind.max()}, batch_size is {batch}."


@op(
    "CropAndResize", infer=_crops_aval, saves="image boxes box_ind", mixed=True, refuses=_refused,
)  # fmt: skip
def _crop_and_resize(image, boxes, box_ind, *, crop_size, method, extrapolation_value, batch):
    extent = image.shape[1:3]
    sampled = _sampled(boxes, box_ind, crop_size, extent, method)
    crops = sum([image[index].astype(SINGLE) * weight for index, weight in sampled])
    outside = jnp.asarray(extrapolation_value, SINGLE)
    return jnp.where(_inside(_places(boxes, crop_size, extent), extent), crops, outside)


def _image_aval(grads, boxes, box_ind, image_size, T, method):
    if (grads.ndim, boxes.ndim) != (4, 2):
        raise invalid(f"grads must be 4-D and boxes 2-D, got: {plain(grads.shape)} and {plain(boxes.shape)}.")
    _check_boxes(boxes, box_ind)
    if (grads.shape[0], grads.shape[3]) != (boxes.shape[0], image_size[3]):
        raise invalid(f"grads of shape {plain(grads.shape)} do not fit {boxes.shape[0]} boxes in an image {plain(image_size)}.")
    return aval(image_size, T)


@op(
    "CropAndResizeGradImage",
    infer=_image_aval,
    saves="grads boxes box_ind",
    mixed=True,
)
def _to_image(grads, boxes, box_ind, *, image_size, T, method):
    image = jnp.zeros(image_size, SINGLE)
    for index, weight in _sampled(boxes, box_ind, grads.shape[1:3], image_size[1:3], method):
        image = at(image)[index].add(grads * weight)
    return image.astype(T)


def _to_boxes(grads, image, boxes, box_ind):
    """Return the gradient to the boxes, by bilinear sampling (for "nearest", too, as in TensorFlow)."""
    count, *size, _ = grads.node.aval.shape
    extent = image.node.aval.shape[1:3]
    places = _places(boxes, size, extent)
    grads = where(_inside(places, extent), grads, 0)
    parts, pixels = [], []
    for place, limit in zip(places, extent, strict=True):
        low = floor(place)
        parts.append(place - low)
        pixels.append([cast(minimum(maximum(side, 0), limit - 1), WHOLE) for side in (low, ceil(place))])
    at = [
        [
            cast(gather_nd(image, stack([broadcast_to(i, [count, *size]) for i in index], axis=-1)), SINGLE)
            for index in [(box_ind[:, None, None], row[:, :, None], column[:, None, :]) for column in pixels[1]]
        ]
        for row in pixels[0]
    ]
    row_part, column_part = parts[0][:, :, None, None], parts[1][:, None, :, None]
    down = (1 - column_part) * (at[1][0] - at[0][0]) + column_part * (at[1][1] - at[0][1])
    across = (1 - row_part) * (at[0][1] - at[0][0]) + row_part * (at[1][1] - at[1][0])
    ends = [
        matmul(reduce_sum(grads * slope, axes), host_constant(_shares(steps, limit)))
        for slope, axes, steps, limit in ((down, [2, 3], size[0], extent[0]), (across, [1, 3], size[1], extent[1]))
    ]
    return reshape(stack(ends, axis=-1), [count, 4])


@gradient(_crop_and_resize)
def _(dy, image, boxes, box_ind, needs_image, needs_boxes, *, method):
    aval = image.node.aval
    to_image = to_boxes = None
    if needs_image:
        to_image = _to_image(dy, boxes, box_ind, image_size=aval.shape, T=aval.dtype, method=method)
    if needs_boxes:
        to_boxes = _to_boxes(dy, image, boxes, box_ind)
    return to_image, to_boxes, None


@gradient(_to_image)
def _(ddx, grads, boxes, box_ind, needs_grads, needs_boxes, *, method):
    size = grads.node.aval.shape[1:3]
    to_grads = to_boxes = None
    if needs_grads:
        batch = ddx.node.aval.shape[0]
        to_grads = _crop_and_resize(ddx, boxes, box_ind, crop_size=size, method=method, extrapolation_value=0.0, batch=batch)
    if needs_boxes and method == "bilinear":
        to_boxes = _to_boxes(grads, ddx, boxes, box_ind)
    return to_grads, to_boxes, None


@public
def crop_and_resize(image, boxes, box_indices, crop_size, method="bilinear", extrapolation_value=0.0, name=None):
    """Return parts of images, [boxes, *crop_size, channels] in float32.

    `image` is [batch, height, width, channels], real. `boxes`, float32 [boxes, 4], are y1, x1, y2, x2; 0 and 1 are the centres
    of the image's outermost pixels. The ends may be in any order. Pixels outside of the image are `extrapolation_value`.
    `box_indices`, int32, is the index of each box's image. `method` is "bilinear" or "nearest". Gradients flow to float images
    and to boxes.

    >>> tf.image.crop_and_resize(tf.zeros([1, 4, 4, 3]), [[0.0, 0.0, 0.5, 0.5]], [0], [2, 2]).shape
    TensorShape([1, 2, 2, 3])
    """
    image = tensor(image)
    if tensor(crop_size).ndim != 1:
        raise invalid(f"crop_size must be 1-D: two integers, height and width. Received {crop_size!r}.")
    batch = image.node.aval.shape[0] if image.ndim else 0
    try:
        return _crop_and_resize(
            image,
            tensor(boxes, SINGLE),
            tensor(box_indices, WHOLE),
            crop_size=static_list(crop_size, "crop_size"),
            method=method,
            extrapolation_value=float(extrapolation_value),
            batch=batch,
        )
    except InvalidArgumentError as error:
        if OUTSIDE not in error.message:
            raise
        raise OutOfRangeError.saying(error.message) from None
