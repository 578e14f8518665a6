"""Random crops of an image that cover enough of one of its objects.

All attempts are drawn at once, and the first valid one is taken; TensorFlow draws one after another. So the distribution is
TensorFlow's, and the numbers are not.
"""

from typing import NamedTuple

import numpy as np

from gradtape._src.core.base.errors import invalid
from gradtape._src.core.base.public import public
from gradtape._src.core.declarations.define import not_differentiable, op
from gradtape._src.core.platform.arrays import jnp
from gradtape._src.core.tensors.convert import static, tensor
from gradtape._src.core.tensors.tensor import Tensor, extents_of
from gradtape._src.core.values.aval import aval
from gradtape._src.ops.array.shape import plain, reshape
from gradtape._src.ops.random.draws import stateless_uniform, uniform
from gradtape._src.ops.shapes import require

SINGLE = np.float32
HALF, ONE = SINGLE(0.5), SINGLE(1)
SIZES = ("uint8", "int8", "int16", "int32", "int64")
DRAWS = 4  # random numbers per attempt: aspect ratio, height, y and x
WHOLE = np.array([[0, 0, 1, 1]], SINGLE)


def _avals(image_size, boxes, drawn, **_):
    require(image_size, SIZES)
    if image_size.shape != (3,):
        raise invalid(
            f"image_size must contain 3 elements, height, width and channels: received shape {plain(image_size.shape)}."
        )
    return aval((3,), image_size.dtype), aval((3,), image_size.dtype), aval((1, 1, 4), np.dtype(SINGLE))


def _extents(height, width, drawn, ratios, areas):
    """Return the height and width of each attempt, and whether it fits into the image and has a valid area.

    The height is uniform among those with a valid area. Where rounding makes the area too small or too large, the height
    changes by one row.
    """
    ratio = ratios[0] + drawn[:, 0] * (ratios[1] - ratios[0])
    least, most = (bound * height * width for bound in areas)
    low, high = (jnp.rint(jnp.sqrt(area / ratio)) for area in (least, most))
    of_width = jnp.floor((width + HALF) / ratio)
    of_width = jnp.where(jnp.rint(of_width * ratio) > width, of_width - ONE, of_width)
    high = jnp.minimum(jnp.where(jnp.rint(high * ratio) > width, of_width, high), height)
    low = jnp.minimum(low, high)
    rows = jnp.minimum(low + jnp.floor(drawn[:, 1] * (high - low + ONE)), high)
    rows = jnp.where(rows * jnp.rint(rows * ratio) < least, rows + ONE, rows)
    rows = jnp.where(rows * jnp.rint(rows * ratio) > most, rows - ONE, rows)
    columns = jnp.rint(rows * ratio)
    area = rows * columns
    fits = (rows <= height) & (columns <= width) & (area > 0)
    return rows, columns, fits & (area >= least) & (area <= most)


def _place(drawn, whole, part):
    """Return the start of a part, uniform among the positions at which it ends before the end of the whole."""
    return jnp.minimum(jnp.floor(drawn * (whole - part)), jnp.maximum(whole - part - ONE, 0))


@op("SampleDistortedBoundingBoxV2", infer=_avals, mixed=True)
def _sampled(image_size, boxes, drawn, *, min_object_covered, aspect_ratio_range, area_range):
    height, width = image_size[0].astype(SINGLE), image_size[1].astype(SINGLE)
    ratios, areas = (tuple(map(SINGLE, bounds)) for bounds in (aspect_ratio_range, area_range))
    rows, columns, good = _extents(height, width, drawn, ratios, areas)
    y, x = _place(drawn[:, 2], height, rows), _place(drawn[:, 3], width, columns)
    top, left, bottom, right = (jnp.trunc(boxes[:, k] * (height, width)[k % 2]) for k in range(4))
    tall = jnp.minimum(bottom, (y + rows)[:, None]) - jnp.maximum(top, y[:, None])
    long = jnp.minimum(right, (x + columns)[:, None]) - jnp.maximum(left, x[:, None])
    shared = jnp.where((tall > 0) & (long > 0), tall * long, 0)
    size = (bottom - top) * (right - left)
    covered = (size >= 1) & (shared / jnp.maximum(size, ONE) >= SINGLE(min_object_covered))
    good = good & covered.any(axis=1)
    chosen, found = jnp.argmax(good), good.any()
    begin = jnp.where(found, jnp.stack([y[chosen], x[chosen]]), 0)
    extent = jnp.where(found, jnp.stack([rows[chosen], columns[chosen]]), jnp.stack([height, width]))
    corners = jnp.concatenate([begin, begin + extent]) / jnp.stack([height, width, height, width])
    begin, extent = (jnp.concatenate([v, jnp.full((1,), last, SINGLE)]) for v, last in ((begin, 0), (extent, -1)))
    return begin.astype(image_size.dtype), extent.astype(image_size.dtype), corners.reshape(1, 1, 4)


not_differentiable(_sampled, because="it draws places of pixels, which are integers", unregistered=True)


class SampleDistortedBoundingBoxV2(NamedTuple):
    """The crop that was drawn: `begin` and `size` for `tf.slice`, and its corners as a box."""

    begin: Tensor
    size: Tensor
    bboxes: Tensor


def _attempts(draw, image_size, bounding_boxes, covered, ratios, areas, attempts, whole):
    boxes = tensor(bounding_boxes, SINGLE)
    if boxes.ndim != 3 or extents_of(boxes)[2] != 4:
        raise invalid(f"input boxes must be 3-dimensional [batch, num_boxes, coords]: received shape {plain(extents_of(boxes))}.")
    ratios, areas = tuple(map(float, ratios or (0.75, 1.33))), tuple(map(float, areas or (0.05, 1.0)))
    if len(ratios) != 2 or ratios[0] <= 0 or ratios[1] <= 0:
        raise invalid(f"Aspect ratio range must be two positive numbers: received {list(ratios)}.")
    if len(areas) != 2 or not (0 < areas[0] <= 1 and 0 < areas[1] <= 1):
        raise invalid(f"Area range must be two numbers in (0.0, 1.0]: received {list(areas)}.")
    count = 100 if attempts is None else static(attempts, "max_attempts")
    if count <= 0:
        raise invalid(f"Max attempts must be positive: received {count}.")
    if not 0 <= float(covered) <= 1:
        raise invalid(f"Minimum object covered must be in [0.0, 1.0]: received {covered}.")
    if not boxes.node.aval.size:
        if not whole:
            raise invalid(
                "No bounding boxes provided as input. One must enable use_image_if_no_bounding_boxes if you wish to not provide "
                "any bounding boxes."
            )
        boxes = tensor(WHOLE)
    flat, drawn = reshape(boxes, [-1, 4]), draw([count, DRAWS])
    return SampleDistortedBoundingBoxV2(*_sampled(tensor(image_size), flat, drawn, float(covered), ratios, areas))


@public
def sample_distorted_bounding_box(
    image_size,
    bounding_boxes,
    seed=0,
    min_object_covered=0.1,
    aspect_ratio_range=None,
    area_range=None,
    max_attempts=None,
    use_image_if_no_bounding_boxes=None,
    name=None,
):
    """Draw a random crop of an image that covers at least `min_object_covered` of one of the `bounding_boxes`.

    `image_size` is [height, width, channels]; boxes are [images, boxes, 4]: y1, x1, y2, x2, from 0 to 1. The crop's aspect
    ratio, width / height, is in `aspect_ratio_range` (0.75 to 1.33), its share of the image in `area_range` (0.05 to 1).
    Returns `begin` and `size` for `tf.slice`, and the crop as a box. If none of `max_attempts` (100) is valid, it is the whole
    image. Without boxes, `use_image_if_no_bounding_boxes` takes the image as the object, else it is an InvalidArgumentError.

    >>> begin, size, box = tf.image.sample_distorted_bounding_box([20, 30, 3], [[[0.0, 0.0, 1.0, 1.0]]], area_range=[0.5, 1.0])
    >>> part = tf.slice(tf.zeros([20, 30, 3]), begin, size)
    >>> part.shape[0] * part.shape[1] >= 300, box.shape
    (True, TensorShape([1, 1, 4]))
    """
    return _attempts(
        lambda shape: uniform(shape, seed=seed or None), image_size, bounding_boxes, min_object_covered, aspect_ratio_range,
        area_range, max_attempts, use_image_if_no_bounding_boxes,
    )  # fmt: skip


@public
def stateless_sample_distorted_bounding_box(
    image_size,
    bounding_boxes,
    seed,
    min_object_covered=0.1,
    aspect_ratio_range=None,
    area_range=None,
    max_attempts=None,
    use_image_if_no_bounding_boxes=None,
    name=None,
):
    """Draw like `sample_distorted_bounding_box`: the same crop for the same `seed` of two integers.

    >>> boxes = [[[0.2, 0.2, 0.8, 0.8]]]
    >>> a, b = (tf.image.stateless_sample_distorted_bounding_box([20, 30, 3], boxes, seed=[1, 2]) for _ in range(2))
    >>> bool(tf.reduce_all(a.bboxes == b.bboxes))
    True
    """
    return _attempts(
        lambda shape: stateless_uniform(shape, seed), image_size, bounding_boxes, min_object_covered, aspect_ratio_range,
        area_range, max_attempts, use_image_if_no_bounding_boxes,
    )  # fmt: skip
