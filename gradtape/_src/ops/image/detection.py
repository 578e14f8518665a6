"""Boxes of detected objects: non-maximum suppression, and drawing.

A box is y1, x1, y2, x2. The number of remaining boxes depends on values, so suppression runs eagerly, on the host.
"""

import functools
import heapq
import math
from typing import NamedTuple

import jax
import numpy as np

from gradtape._src.core.base.errors import invalid, invalid_for
from gradtape._src.core.base.public import public
from gradtape._src.core.declarations.define import AT_ONCE, not_differentiable, op, ran
from gradtape._src.core.platform.arrays import jnp, lax
from gradtape._src.core.tensors.convert import is_tensor, operands, static, tensor
from gradtape._src.core.tensors.tensor import Tensor, emit, extents_of, handle
from gradtape._src.core.values.aval import aval
from gradtape._src.core.values.dim import unknown
from gradtape._src.ops.array.shape import plain
from gradtape._src.ops.shapes import require

SINGLE = np.float32
NUMBERS = "it gives the numbers of boxes, which are integers"
COLOURS = (
    (1, 1, 0, 1), (0, 0, 1, 1), (1, 0, 0, 1), (0, 1, 0, 1), (0.5, 0, 0.5, 1),
    (0.5, 0.5, 0, 1), (0.5, 0, 0, 1), (0, 0, 0.5, 1), (0, 1, 1, 1), (1, 0, 1, 1),
)  # fmt: skip


# ---------------------------------------------------------------------------------------------------------------------
# Non-maximum suppression


def _overlaps(boxes):
    """Return a function of a box's index and a list of others, which computes their intersection over union."""
    boxes = boxes.astype(SINGLE)
    low, high = boxes.reshape(-1, 2, 2).min(1), boxes.reshape(-1, 2, 2).max(1)
    areas = (high - low)[:, 0] * (high - low)[:, 1]

    def overlap(box, others):
        sides = (high[others].clip(None, high[box]) - low[others].clip(low[box], None)).clip(0, None)
        shared = sides[:, 0] * sides[:, 1]
        both = areas[box] + areas[others] - shared
        real = (areas[box] > 0) & (areas[others] > 0)
        return np.where(real, shared / np.where(real, both, SINGLE(1)), SINGLE(0))

    return overlap


def _suppressed(overlap, scores, max_output_size, overlap_threshold, score_threshold, sigma=0.0):
    """Return the indices of the remaining boxes, best first, and their scores.

    A box that overlaps a better one by more than the threshold is left out. With a `sigma`, its score is multiplied by
    exp(−overlap²/2σ²) for each better box instead (Bodla et al., "Soft-NMS", 2017).
    """
    scores = scores.astype(SINGLE)
    heap = [(-float(score), box, 0) for box, score in enumerate(scores) if score > score_threshold]
    heapq.heapify(heap)
    kept, final = [], []
    while heap and len(kept) < max_output_size:
        score, box, met = heapq.heappop(heap)
        reduced = SINGLE(-score)
        overlaps = overlap(box, kept[met:])
        if sigma:
            for shared in overlaps[::-1]:
                reduced = SINGLE(reduced * SINGLE(math.exp(-0.5 / sigma * float(shared) ** 2)))
                if reduced <= score_threshold:
                    break
        elif (overlaps > overlap_threshold).any():
            continue
        if reduced == -score:
            kept.append(box)
            final.append(reduced)
        elif reduced > score_threshold:
            heapq.heappush(heap, (-float(reduced), box, len(kept)))
    return np.array(kept, np.int32), np.array(final, SINGLE)


def _left(boxes, scores, **_):
    left = unknown()
    return aval((left,), np.dtype(np.int32)), aval((left,), scores.dtype)


TAKEN = "take the scores of the boxes that are kept, `tf.gather(scores, selected)`: through these a gradient flows"


@op("NonMaxSuppressionV3", infer=lambda *boxes, **_: _left(*boxes)[0], unhosted=AT_ONCE, instead=TAKEN, traits="holds_for_all")
def _suppression(boxes, scores, *, max_output_size, iou_threshold, score_threshold):
    return _suppressed(_overlaps(boxes), scores, max_output_size, iou_threshold, score_threshold)[0]


# As in TensorFlow, the scores have no gradient: LookupError.
@op("NonMaxSuppressionV5", infer=_left, unhosted=AT_ONCE, instead=TAKEN, traits="holds_for_all")
def _soft_suppression(boxes, scores, *, max_output_size, iou_threshold, score_threshold, soft_nms_sigma):
    kept, final = _suppressed(_overlaps(boxes), scores, max_output_size, iou_threshold, score_threshold, soft_nms_sigma)
    return kept, final.astype(scores.dtype)


@op("NonMaxSuppressionWithOverlaps", infer=lambda *boxes, **_: _left(*boxes)[0], unhosted=AT_ONCE)
def _overlap_suppression(overlaps, scores, *, max_output_size, overlap_threshold, score_threshold):
    return _suppressed(lambda box, others: overlaps[box, others], scores, max_output_size, overlap_threshold, score_threshold)[0]


def _combined_avals(boxes, scores, max_output_size_per_class, max_total_size, pad_per_class, **_):
    require(boxes, ("float32",))
    for what, x, rank in (("boxes", boxes, 4), ("scores", scores, 3)):
        if x.ndim != rank:
            raise invalid(f"{what} must be {rank}-D, received shape {plain(x.shape)}.")
    if scores.shape[:2] != boxes.shape[:2]:
        raise invalid(f"boxes and scores must have the same batches and boxes: {plain(boxes.shape)}, {plain(scores.shape)}.")
    if boxes.shape[2] not in (1, scores.shape[2]):
        raise invalid(f"third dimension of boxes must be either 1 or num classes: {boxes.shape[2]}, {scores.shape[2]} classes.")
    if boxes.shape[3] != 4:
        raise invalid(f"boxes must have 4 columns, y1, x1, y2, x2: received shape {plain(boxes.shape)}.")
    if max_output_size_per_class <= 0 or max_total_size <= 0:
        raise invalid(f"max sizes must be > 0: received {max_output_size_per_class} per class, {max_total_size} in total.")
    count, batch = max_total_size, boxes.shape[0]
    if pad_per_class:
        count = min(count, max_output_size_per_class * scores.shape[2])
    single, whole = np.dtype(SINGLE), np.dtype(np.int32)
    return aval((batch, count, 4), single), aval((batch, count), single), aval((batch, count), single), aval((batch,), whole)


def _best_of_class(boxes, scores, count, iou_threshold, too_much=jnp.greater):
    """Return the indices and scores of `count` boxes of a class, best first, padded with scores of -inf.

    `too_much` compares the overlap with the threshold.
    """
    low, high = jnp.minimum(boxes[:, :2], boxes[:, 2:]), jnp.maximum(boxes[:, :2], boxes[:, 2:])
    areas = jnp.prod(high - low, axis=1)

    def step(left, _):
        box = jnp.argmax(left)
        sides = jnp.clip(jnp.minimum(high, high[box]) - jnp.maximum(low, low[box]), 0, None)
        shared = jnp.prod(sides, axis=1)
        real = (areas > 0) & (areas[box] > 0)
        overlaps = jnp.where(real, shared / jnp.where(real, areas + areas[box] - shared, SINGLE(1)), SINGLE(0))
        suppressed = too_much(overlaps, iou_threshold) | (jnp.arange(left.shape[0], dtype=box.dtype) == box)
        return jnp.where(suppressed, -jnp.inf, left), (box, left[box])

    return lax.scan(step, scores, None, count)[1]


@op("CombinedNonMaxSuppression", infer=_combined_avals, unhosted="it loops", instead=TAKEN, traits="holds_for_all")
def _combined(
    boxes, scores, *, max_output_size_per_class, max_total_size, pad_per_class, iou_threshold, score_threshold, clip_boxes
):
    images, rows, classes = scores.shape
    most = max_output_size_per_class
    count = min(max_total_size, most * classes) if pad_per_class else max_total_size
    if not scores.size:
        found = jnp.zeros((images, count), SINGLE)
        return jnp.zeros((images, count, 4), SINGLE), found, found, jnp.zeros((images,), jnp.int32)
    boxes = jnp.broadcast_to(boxes, (images, rows, classes, 4)).transpose(0, 2, 1, 3)
    scores = jnp.where(scores > score_threshold, scores, -jnp.inf).transpose(0, 2, 1)
    best = jax.vmap(jax.vmap(functools.partial(_best_of_class, count=most, iou_threshold=iou_threshold)))
    numbers, found = best(boxes, scores)
    kept = jnp.take_along_axis(boxes, numbers[..., None], axis=2).reshape(images, -1, 4)
    found, of_class = (
        found.reshape(images, -1),
        jnp.broadcast_to(jnp.arange(classes, dtype=SINGLE)[:, None], (classes, most)).reshape(-1),
    )
    order = jnp.argsort(-found, axis=1, stable=True)[:, :count]
    found = jnp.take_along_axis(found, order, axis=1)
    real = found > -jnp.inf
    kept = jnp.take_along_axis(kept, order[..., None], axis=1)
    kept = jnp.where(real[..., None], jnp.clip(kept, 0, 1) if clip_boxes else kept, 0)
    missing = (0, count - order.shape[1])
    return (
        jnp.pad(kept, ((0, 0), missing, (0, 0))),
        jnp.pad(jnp.where(real, found, 0), ((0, 0), missing)),
        jnp.pad(jnp.where(real, of_class[order], 0), ((0, 0), missing)),
        real.sum(1, dtype=jnp.int32),
    )


def _padded_avals(boxes, scores, max_output_size, **_):
    whole = np.dtype(np.int32)
    return aval((*scores.shape[:-1], max_output_size), whole), aval(scores.shape[:-1], whole)


@op("NonMaxSuppressionPadded", infer=_padded_avals, unhosted="it loops", instead=TAKEN, traits="own holds_for_all")
def _padded(boxes, scores, *, max_output_size, iou_threshold, score_threshold):
    if not scores.size or not max_output_size:
        return jnp.zeros((*scores.shape[:-1], max_output_size), jnp.int32), jnp.zeros(scores.shape[:-1], jnp.int32)
    real = (scores > score_threshold) & (boxes > 0).any(-1)
    scores = jnp.where(real, scores.astype(SINGLE), -jnp.inf).reshape(-1, scores.shape[-1])
    best = functools.partial(_best_of_class, count=max_output_size, iou_threshold=iou_threshold, too_much=jnp.greater_equal)
    numbers, found = jax.vmap(best)(boxes.astype(SINGLE).reshape(*scores.shape, 4), scores)
    kept = found > -jnp.inf
    numbers = jnp.where(kept, numbers, 0).astype(jnp.int32).reshape(*real.shape[:-1], max_output_size)
    return numbers, kept.sum(-1, dtype=jnp.int32).reshape(real.shape[:-1])


not_differentiable(_suppression, _overlap_suppression, _combined, because=NUMBERS, unregistered=True)
not_differentiable(_padded, because=NUMBERS)


def _inputs(function, first, name, scores):
    """Convert boxes (or overlaps) and scores to Tensors of one dtype, half or float."""
    values = [value if is_tensor(value) else tensor(value, SINGLE) for value in (first, scores)]
    first, scores = [handle(node) for node in operands(function.op, values)]
    require(first.node.aval, ("float16", "float32"))
    for what, x, rank in ((name, first, 2), ("scores", scores, 1)):
        if x.ndim != rank:
            raise invalid_for(function.op.type, f"{what} must be {rank}-D: received shape {plain(extents_of(x))}.")
    return first, scores


def _limits(max_output_size, **thresholds):
    """Check the arguments of a suppression and return them as attributes."""
    size = tensor(max_output_size)
    if size.ndim:
        raise invalid(f"max_output_size must be 0-D, got shape {plain(extents_of(size))}: give one number.")
    most = static(max_output_size, "max_output_size")
    if most < 0:
        raise invalid(f"output size must be non-negative: max_output_size is {most}.")
    values = {name: float(value) for name, value in thresholds.items()}
    if not 0 <= values.get("iou_threshold", 0) <= 1:
        raise invalid(f"iou_threshold must be in [0, 1]: received {values['iou_threshold']}.")
    if values.get("soft_nms_sigma", 0) < 0:
        raise invalid(f"soft_nms_sigma_val must be >= 0: received {values['soft_nms_sigma']}.")
    return most, *values.values()


def _boxes(function, boxes, scores):
    boxes, scores = _inputs(function, boxes, "boxes", scores)
    if extents_of(boxes)[1] != 4:
        raise invalid(f"boxes must have 4 columns, y1, x1, y2, x2: received shape {plain(extents_of(boxes))}.")
    if extents_of(boxes)[0] != extents_of(scores)[0]:
        raise invalid(f"scores has incompatible shape: {plain(extents_of(scores))} for {extents_of(boxes)[0]} boxes.")
    return boxes, scores


@public
def non_max_suppression(boxes, scores, max_output_size, iou_threshold=0.5, score_threshold=float("-inf"), name=None):
    """Return the indices, int32, of at most `max_output_size` boxes that overlap no better box too much, best first.

    `boxes` are [boxes, 4], any two opposite corners, `scores` [boxes], both of one dtype, float32 or float16. A box is left
    out if its intersection over union with a kept box is above `iou_threshold`, or if its score is not above
    `score_threshold`.

    >>> tf.image.non_max_suppression([[0.0, 0.0, 1.0, 1.0], [0.0, 0.0, 1.0, 0.9]], [0.9, 0.8], max_output_size=2).numpy()
    array([0], dtype=int32)
    """
    limits = _limits(max_output_size, iou_threshold=iou_threshold, score_threshold=score_threshold)
    return ran(_suppression, *_boxes(_suppression, boxes, scores), attrs=limits)


@public
def non_max_suppression_with_scores(
    boxes, scores, max_output_size, iou_threshold=0.5, score_threshold=float("-inf"), soft_nms_sigma=0.0, name=None
):
    """Return `(indices, scores)` of the remaining boxes, as `non_max_suppression`.

    With a `soft_nms_sigma` above 0 an overlap reduces a box's score instead of removing the box.

    >>> boxes, scores = [[0.0, 0.0, 1.0, 1.0], [0.0, 0.0, 1.0, 0.9], [2.0, 2.0, 3.0, 3.0]], [0.9, 0.8, 0.7]
    >>> for sigma in (0.0, 0.5):
    ...     numbers, remaining = tf.image.non_max_suppression_with_scores(boxes, scores, 3, soft_nms_sigma=sigma)
    ...     print(numbers.numpy(), remaining.numpy().round(3))
    [0 2] [0.9 0.7]
    [0 2 1] [0.9   0.7   0.356]
    """
    limits = _limits(max_output_size, iou_threshold=iou_threshold, score_threshold=score_threshold, soft_nms_sigma=soft_nms_sigma)
    return ran(_soft_suppression, *_boxes(_soft_suppression, boxes, scores), attrs=limits)


@public
def non_max_suppression_overlaps(
    overlaps, scores, max_output_size, overlap_threshold=0.5, score_threshold=float("-inf"), name=None
):
    """Select boxes like `non_max_suppression`, by given overlaps [boxes, boxes].

    >>> overlaps = [[1.0, 0.9, 0.0], [0.9, 1.0, 0.0], [0.0, 0.0, 1.0]]
    >>> print(tf.image.non_max_suppression_overlaps(overlaps, [0.9, 0.8, 0.7], 3).numpy())
    [0 2]
    """
    limits = _limits(max_output_size, overlap_threshold=overlap_threshold, score_threshold=score_threshold)
    overlaps, scores = _inputs(_overlap_suppression, overlaps, "overlaps", scores)
    if extents_of(overlaps)[0] != extents_of(overlaps)[1]:
        raise invalid(f"overlaps must be square: received shape {plain(extents_of(overlaps))}.")
    if extents_of(overlaps)[0] != extents_of(scores)[0]:
        raise invalid(f"scores has incompatible shape: {plain(scores.shape)} for {overlaps.shape[0]} boxes.")
    return ran(_overlap_suppression, overlaps, scores, attrs=limits)


@public
def non_max_suppression_padded(
    boxes,
    scores,
    max_output_size,
    iou_threshold=0.5,
    score_threshold=float("-inf"),
    pad_to_max_output_size=False,
    name=None,
    sorted_input=False,
    canonicalized_coordinates=False,
    tile_size=512,
):
    """Return the indices of the remaining boxes of each image, best first, padded with 0, and their numbers; both int32.

    `boxes` are [..., boxes, 4], `scores` [..., boxes]; the indices are [..., max_output_size]. Boxes are left out from an
    overlap of `iou_threshold` on, and where no coordinate is above 0. ValueError for several images without
    `pad_to_max_output_size`, since the indices are then cut behind the last one. The other arguments only help speed in
    TensorFlow.

    >>> boxes, scores = [[[0.0, 0.0, 1.0, 1.0], [0.0, 0.0, 1.0, 0.9]]], [[0.8, 0.9]]
    >>> indices, count = tf.image.non_max_suppression_padded(boxes, scores, 2, pad_to_max_output_size=True)
    >>> indices.numpy(), count.numpy()
    (array([[1, 0]], dtype=int32), array([1], dtype=int32))
    """
    most, iou, least = _limits(max_output_size, iou_threshold=iou_threshold, score_threshold=score_threshold)
    nodes = operands(_padded.op, [value if is_tensor(value) else tensor(value, SINGLE) for value in (boxes, scores)])
    boxes, scores = [handle(node) for node in nodes]
    if extents_of(boxes) != (*extents_of(scores), 4):
        raise invalid(
            f"boxes must have the shape of scores and four coordinates: received {plain(extents_of(boxes))} and "
            f"{plain(extents_of(scores))}."
        )
    if boxes.ndim > 2 and not pad_to_max_output_size:
        raise ValueError(f"'pad_to_max_output_size' (value {pad_to_max_output_size}) must be True for batched input")
    indices, count = emit(_padded.op, nodes, (most, iou, least))
    return indices if pad_to_max_output_size else indices[:count], count


class CombinedNonMaxSuppression(NamedTuple):
    """The kept boxes of each image, their scores and classes, and their number."""

    nmsed_boxes: Tensor
    nmsed_scores: Tensor
    nmsed_classes: Tensor
    valid_detections: Tensor


@public
def combined_non_max_suppression(
    boxes,
    scores,
    max_output_size_per_class,
    max_total_size,
    iou_threshold=0.5,
    score_threshold=float("-inf"),
    pad_per_class=False,
    clip_boxes=True,
    name=None,
):
    """Return the best boxes of each image over all classes, after `non_max_suppression` within each class.

    `boxes` are [images, boxes, classes or 1, 4], `scores` [images, boxes, classes], both float32. Results are padded with 0 to
    `max_total_size` boxes; with `pad_per_class` to `max_output_size_per_class` for each class, if that is less. Boxes are
    clipped to the image, from 0 to 1, with `clip_boxes`.

    >>> boxes = [[[[0.0, 0.0, 1.0, 1.0]], [[0.0, 0.0, 1.0, 0.9]], [[0.0, 0.0, 0.2, 0.2]]]]
    >>> found = tf.image.combined_non_max_suppression(boxes, [[[0.9, 0.1], [0.8, 0.7], [0.3, 0.6]]], 2, 4, score_threshold=0.2)
    >>> found.nmsed_classes.numpy(), found.nmsed_scores.numpy(), found.valid_detections.numpy()
    (array([[0., 1., 1., 0.]], dtype=float32), array([[0.9, 0.7, 0.6, 0.3]], dtype=float32), array([4], dtype=int32))
    """
    most, iou, least = _limits(max_output_size_per_class, iou_threshold=iou_threshold, score_threshold=score_threshold)
    total = static(max_total_size, "max_total_size")
    values = [value if is_tensor(value) else tensor(value, SINGLE) for value in (boxes, scores)]
    attrs = (most, total, bool(pad_per_class), iou, least, bool(clip_boxes))
    return CombinedNonMaxSuppression(*emit(_combined.op, operands(_combined.op, values), attrs))


# ---------------------------------------------------------------------------------------------------------------------
# Drawing


def _drawn_aval(images, boxes, colors=None):
    require(images, ("float16", "float32"))
    if images.ndim != 4:
        raise invalid(f"The rank of the images should be 4: received shape {plain(images.shape)}.")
    if boxes.ndim != 3:
        raise invalid(f"The rank of the boxes tensor should be 3: received shape {plain(boxes.shape)}.")
    if images.shape[0] != boxes.shape[0]:
        raise invalid(f"The batch sizes should be the same: {images.shape[0]} images, boxes for {boxes.shape[0]}.")
    depth = images.shape[3]
    if depth not in (1, 3, 4):
        raise invalid(f"Channel depth should be either 1 (GRY), 3 (RGB), or 4 (RGBA): received {depth}.")
    if boxes.shape[2] != 4:
        raise invalid(f"The size of the third dimension of the box must be 4. Received: {boxes.shape[2]}.")
    if colors is not None and colors.ndim != 2:
        raise invalid(f"colors must be a 2-D matrix: received shape {plain(colors.shape)}.")
    if colors is not None and colors.shape[1] < depth:
        raise invalid(f"colors must have equal or more channels than the image provided: {plain(colors.shape)} for {depth}.")
    return images


def _drawn(images, boxes, colours):
    """Draw the borders of boxes. A pixel on several borders gets the colour of the last box."""
    _, height, width, depth = images.shape
    scale = jnp.asarray([height - 1, width - 1] * 2, SINGLE)
    top, left, bottom, right = jnp.moveaxis((boxes * scale).astype(jnp.int32), 2, 0)[..., None, None]
    row = lax.broadcasted_iota(jnp.int32, (height, width), 0)
    column = lax.broadcasted_iota(jnp.int32, (height, width), 1)
    within = (row >= top) & (row <= bottom) & (column >= left) & (column <= right)
    border = within & ((row == top) | (row == bottom) | (column == left) | (column == right))
    number = jnp.arange(boxes.shape[1], dtype=jnp.int32)[:, None, None]
    last = jnp.max(jnp.where(border, number, jnp.full_like(number, -1)), 1, initial=-1)[..., None]
    chosen = jnp.take(colours[:, :depth].astype(images.dtype), last[..., 0] % len(colours), 0)
    return jnp.where(last >= 0, chosen, images)


@op("DrawBoundingBoxes", infer=_drawn_aval, mixed=True)
def _draw(images, boxes):
    colours = np.array(COLOURS, SINGLE)
    if images.shape[3] == 1:
        colours[:, 0] = 1
    return _drawn(images, boxes, jnp.asarray(colours, SINGLE))


# As in TensorFlow, the op has no gradient: LookupError.
@op("DrawBoundingBoxesV2", infer=_drawn_aval, mixed=True)
def _draw_in_colours(images, boxes, colors):
    return _drawn(images, boxes, colors)


not_differentiable(_draw, because="it paints over the image: draw on a copy, and take gradients through the original")


@public
def draw_bounding_boxes(images, boxes, colors, name=None):
    """Draw the borders of boxes, one pixel wide, into `images`. Parts outside of the image are cut off.

    `images` are [batch, height, width, 1, 3 or 4], float32 or float16; `boxes`, float32 [batch, boxes, 4], are y1, x1, y2, x2
    from 0 to 1. The `colors`, [n, channels], are used in turn; the default is yellow, blue, red, lime… A later box is drawn
    over an earlier one.

    >>> boxes = tf.constant([[[0.0, 0.0, 0.5, 0.5]]])
    >>> print(tf.image.draw_bounding_boxes(tf.zeros([1, 4, 4, 3]), boxes, [[1.0, 0.0, 0.0]]).numpy()[0, :, :, 0])
    [[1. 1. 0. 0.]
     [1. 1. 0. 0.]
     [0. 0. 0. 0.]
     [0. 0. 0. 0.]]
    """
    images, boxes = tensor(images, hint=SINGLE), tensor(boxes, SINGLE)
    if colors is None:
        return _draw(images, boxes)
    colors = tensor(colors, SINGLE)
    return _draw_in_colours(images, boxes, colors) if extents_of(colors)[0] or colors.ndim != 2 else _draw(images, boxes)
