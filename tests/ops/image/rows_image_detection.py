"""Rows of boxes of detected objects."""

import numpy as np

import gradtape as tf
from tests.ops.table import Row, real

Invalid = tf.errors.InvalidArgumentError
BOXES = np.array(
    [
        [0, 0, 1, 1], [0, 0.1, 1, 1.1], [0, -0.1, 1, 0.9], [0, 10, 1, 11], [0, 10.1, 1, 11.1], [0, 100, 1, 101],
        [1, 1, 0, 0], [0.5, 0.5, 0.5, 0.5],
    ]
)  # fmt: skip
SCORES = np.array([0.9, 0.75, 0.6, 0.95, 0.5, 0.3, 0.9, 0.2])
OVERLAPS = np.array([[1, 0.5, 0.2], [0.5, 1, 0.6], [0.2, 0.6, 1]])
PLACES = np.array([[[0.1, 0.2, 0.6, 0.9], [0.3, -0.5, 1.5, 0.5], [1.2, 0, 1.4, 1], [0.5, 0.2, 0.3, 0.4]]])
FOUND = np.float32(
    [
        [[0, 1, 1, 1], [0, 1, 1, 1], [0, 0, 1, 1], [0.5] * 4, [0, 0.1, 1, 1], [0, 1, 1, 1], [0] * 4, [0] * 4],
        [[0, 1, 0.5, 1], [0, 1, 0.5, 1], [0, 0, 0.5, 0.5], [0.25] * 4, [0, 0.05, 0.5, 0.55], [0, 1, 0.5, 1], [0] * 4, [0] * 4],
    ]
)  # by combined()
PAINT = np.float32([[1, 0, 0], [0, 1, 0]])


def single(function, **options):
    """A call with tensors of float32, which are what there is a kernel for besides float16."""
    return lambda *x: function(*[tf.cast(part, "float32") for part in x], **options)


def wrong(match, boxes=BOXES, scores=SCORES, most=3, **options):
    """An entry of `errors`: a call with one mistake in it."""
    return lambda: tf.image.non_max_suppression(boxes, scores, most, **options), Invalid, match


def combined(**options):
    """A call with the boxes of two images, those of the second half as large, for two classes with the scores in either order."""

    def call(boxes, scores):
        boxes, scores = tf.cast(boxes, "float32"), tf.cast(scores, "float32")
        of_both = tf.stack([scores, scores[::-1]], -1)
        of_images = tf.stack([boxes, boxes * 0.5])[:, :, None]
        return tf.image.combined_non_max_suppression(of_images, tf.stack([of_both] * 2), 3, 8, **options)

    return call


def wrong_combined(match, boxes=(1, 3, 1, 4), scores=(1, 3, 2), most=2, total=4, **options):
    def call():
        tf.image.combined_non_max_suppression(tf.zeros(boxes), tf.zeros(scores), most, total, **options)

    return call, Invalid, match


def wrong_part(match, size=(10, 20, 3), boxes=(((0, 0, 1, 1),),), **options):
    return lambda: tf.image.sample_distorted_bounding_box(size, boxes, **options), Invalid, match


def wrong_overlaps(match, overlaps, scores=SCORES[:3]):
    return lambda: tf.image.non_max_suppression_overlaps(overlaps, scores, 3), Invalid, match


def wrong_drawing(match, images=(1, 2, 2, 3), boxes=(1, 2, 4), colors=(2, 3), dtype="float32"):
    def call():
        tf.image.draw_bounding_boxes(tf.ones(images, dtype), tf.zeros(boxes), tf.ones(colors))

    return call, Invalid, match


def painted(colours):
    """Box by box and pixel by pixel."""

    def paint(images, places):
        images = images.astype("float32")
        _, height, width, depth = images.shape
        for batch, number in np.ndindex(places.shape[:2]):
            sides = zip(places[batch, number], (height, width, height, width), strict=True)
            top, left, bottom, right = [int(np.float32(side) * (extent - 1)) for side, extent in sides]
            for row, column in np.ndindex(height, width):
                if top <= row <= bottom and left <= column <= right and (row in (top, bottom) or column in (left, right)):
                    images[batch, row, column] = colours[number % len(colours)][:depth]
        return images

    return paint


ROWS = (
    Row(
        "non_max_suppression",
        single(tf.image.non_max_suppression, max_output_size=10),
        (BOXES, SCORES),
        lambda boxes, scores: np.int32([3, 0, 5, 7]),
        ops=("NonMaxSuppressionV3",),
        order=-1,
        dtypes=("float64", "float16"),
        errors=(
            wrong(r"boxes must be 2-D: received shape \[4\]", BOXES[0]),
            wrong("boxes must have 4 columns", BOXES[:, :3]),
            wrong(r"scores must be 1-D: received shape \[8,1\]", scores=SCORES[:, None]),
            wrong(r"scores has incompatible shape: \[3\] for 8 boxes", scores=SCORES[:3]),
            wrong(r"max_output_size must be 0-D, got shape \[1\]", most=[3]),
            wrong("output size must be non-negative: max_output_size is -3", most=-3),
            wrong(r"iou_threshold must be in \[0, 1\]: received 1.5", iou_threshold=1.5),
            wrong("Value for attr 'T' of double", tf.constant(BOXES), tf.constant(SCORES)),
            wrong("#1.* a float tensor but is a half", tf.constant(BOXES, "float32"), tf.constant(SCORES, "float16")),
        ),
    ),
    Row(
        "non_max_suppression, few of high scores",
        single(tf.image.non_max_suppression, max_output_size=2, iou_threshold=0.9, score_threshold=0.7),
        (BOXES, SCORES),
        lambda boxes, scores: np.int32([3, 0]),
        ops=("NonMaxSuppressionV3",),
        order=-1,
        special=(
            (([[0.0, 0, 1, 1], [0, 0, 1, 0.5]], [np.nan, 0.8]), [1]),
            ((np.zeros([0, 4], "f4"), np.zeros(0, "f4")), np.zeros(0)),
        ),
    ),
    Row(
        "non_max_suppression_with_scores, soft",
        single(tf.image.non_max_suppression_with_scores, max_output_size=10, soft_nms_sigma=0.5),
        (BOXES, SCORES),
        lambda boxes, scores: (
            np.int32([3, 0, 1, 5, 4, 7, 2, 6]),
            np.float32([0.95, 0.9, 0.38400355, 0.3, 0.2560026, 0.2, 0.19697244, 0.08679525]),
        ),
        ops=("NonMaxSuppressionV5",),
        order=-1,
        result=lambda dtype: ("int32", "float32"),
        errors=(
            (
                lambda: tf.image.non_max_suppression_with_scores(BOXES, SCORES, 3, soft_nms_sigma=-1.0),
                Invalid,
                "soft_nms_sigma_val must be >= 0: received -1",
            ),
        ),
    ),
    Row(
        "non_max_suppression_with_scores, soft, above a score",
        single(tf.image.non_max_suppression_with_scores, max_output_size=10, score_threshold=0.35, soft_nms_sigma=0.5),
        (BOXES, SCORES),
        lambda boxes, scores: (np.int32([3, 0, 1]), np.float32([0.95, 0.9, 0.38400355])),
        ops=("NonMaxSuppressionV5",),
        order=-1,
        result=lambda dtype: ("int32", "float32"),
    ),
    Row(
        "non_max_suppression_padded",
        single(tf.image.non_max_suppression_padded, max_output_size=6, score_threshold=0.25, pad_to_max_output_size=True),
        (np.stack([np.delete(BOXES, 6, 0)] * 2), np.stack([np.delete(SCORES, 6), np.arange(1, 8) / 10])),
        lambda boxes, scores: (np.int32([[3, 0, 5, 0, 0, 0], [6, 5, 4, 2, 0, 0]]), np.int32([3, 4])),
        ops=("NonMaxSuppressionPadded",),
        order=0,
        result=lambda dtype: ("int32", "int32"),
        errors=(
            (
                lambda: tf.image.non_max_suppression_padded(BOXES[None], SCORES[None], 3),
                ValueError,
                r"'pad_to_max_output_size' \(value False\) must be True for batched input",
            ),
            (
                lambda: tf.image.non_max_suppression_padded(BOXES, SCORES[:3], 3),
                Invalid,
                r"boxes must have the shape of scores and four coordinates: received \[8,4\] and \[3\]",
            ),
        ),
    ),
    Row(
        "combined_non_max_suppression",
        combined(),
        (BOXES, SCORES - np.arange(8) * 1e-3),
        lambda boxes, scores: (
            FOUND,
            np.float32([[0.947, 0.947, 0.9, 0.9, 0.894, 0.295, 0, 0]] * 2),
            np.float32([[0, 1, 0, 1, 1, 0, 0, 0]] * 2),
            np.int32([6, 6]),
        ),
        ops=("CombinedNonMaxSuppression",),
        order=-1,
        result=lambda dtype: ("float32", "float32", "float32", "int32"),
        errors=(
            wrong_combined(r"boxes must be 4-D, received shape \[3,1,4\]", boxes=(3, 1, 4)),
            wrong_combined(r"scores must be 3-D, received shape \[3,2\]", scores=(3, 2)),
            wrong_combined("must have the same batches and boxes", scores=(1, 4, 2)),
            wrong_combined("third dimension of boxes must be either 1 or num classes: 3, 2 classes", boxes=(1, 3, 3, 4)),
            wrong_combined("boxes must have 4 columns", boxes=(1, 3, 1, 5)),
            wrong_combined("max sizes must be > 0: received 2 per class, 0 in total", total=0),
            wrong_combined(r"iou_threshold must be in \[0, 1\]: received 1.5", iou_threshold=1.5),
        ),
    ),
    Row(
        "combined_non_max_suppression, above a score, not clipped, as many as the classes have",
        combined(score_threshold=0.6, iou_threshold=0.2, pad_per_class=True, clip_boxes=False),
        (BOXES, SCORES - np.arange(8) * 1e-3),
        lambda boxes, scores: (
            np.float32([[[0, 10, 1, 11], [0, 10.1, 1, 11.1], [0, 0, 1, 1], [0.5] * 4, [0, 0.1, 1, 1.1], [0] * 4]])
            * np.float32([[[1]], [[0.5]]]),
            np.float32([[0.947, 0.947, 0.9, 0.9, 0.894, 0]] * 2),
            np.float32([[0, 1, 0, 1, 1, 0]] * 2),
            np.int32([5, 5]),
        ),
        ops=("CombinedNonMaxSuppression",),
        order=-1,
        result=lambda dtype: ("float32", "float32", "float32", "int32"),
    ),
    Row(
        "sample_distorted_bounding_box, of which no attempt fits",
        lambda boxes: tf.image.sample_distorted_bounding_box(
            [11, 300, 3], tf.cast(boxes, "float32"), min_object_covered=0.3, seed=3
        ),
        (np.array([[[0.1, 0.2, 0.6, 0.7], [0.5, 0.5, 0.9, 0.95]]]),),
        lambda boxes: (np.int32([0, 0, 0]), np.int32([11, 300, -1]), np.float32([[[0, 0, 1, 1]]])),
        ops=("SampleDistortedBoundingBoxV2",),
        order=-1,
        result=lambda dtype: ("int32", "int32", "float32"),
        errors=(
            wrong_part(r"image_size must contain 3 elements, .*: received shape \[2\]", size=[10, 20]),
            wrong_part(r"input boxes must be 3-dimensional .* received shape \[1,4\]", boxes=[[0, 0, 1, 1]]),
            wrong_part("No bounding boxes provided as input. One must enable use_image", boxes=np.zeros([1, 0, 4])),
            wrong_part("Aspect ratio range must be two positive numbers", aspect_ratio_range=[-1, 1]),
            wrong_part("Area range must be two numbers in", area_range=[0, 1]),
            wrong_part("Max attempts must be positive: received 0", max_attempts=0),
            wrong_part("Minimum object covered must be in", min_object_covered=1.5),
        ),
    ),
    Row(
        "non_max_suppression_overlaps",
        single(tf.image.non_max_suppression_overlaps, max_output_size=5),
        (OVERLAPS, np.array([0.9, 0.8, 0.7])),
        lambda overlaps, scores: np.int32([0, 1]),
        ops=("NonMaxSuppressionWithOverlaps",),
        order=-1,
        errors=(
            wrong_overlaps(r"overlaps must be square: received shape \[2,3\]", OVERLAPS[:2]),
            wrong_overlaps(r"overlaps must be 2-D: received shape \[3\]", OVERLAPS[0]),
            wrong_overlaps("scores has incompatible shape", OVERLAPS, SCORES[:2]),
        ),
    ),
    Row(
        "draw_bounding_boxes",
        lambda images: tf.image.draw_bounding_boxes(tf.cast(images, "float32"), PLACES, PAINT),
        (real(1, 6, 8, 3),),
        lambda images: painted(PAINT)(images, PLACES),
        ops=("DrawBoundingBoxesV2",),
        order=-1,
        result=lambda dtype: "float32",
        errors=(
            wrong_drawing("rank of the images should be 4", images=(2, 2, 3)),
            wrong_drawing("rank of the boxes tensor should be 3", boxes=(2, 4)),
            wrong_drawing("batch sizes should be the same: 1 images, boxes for 2", boxes=(2, 2, 4)),
            wrong_drawing("Channel depth should be either 1", images=(1, 2, 2, 2)),
            wrong_drawing("third dimension of the box must be 4. Received: 3", boxes=(1, 2, 3)),
            wrong_drawing("colors must be a 2-D matrix", colors=(3,)),
            wrong_drawing("colors must have equal or more channels", colors=(3, 2)),
            wrong_drawing("Value for attr 'T' of uint8", dtype="uint8"),
        ),
    ),
    Row(
        "draw_bounding_boxes, in TensorFlow's colours",
        lambda images: tf.image.draw_bounding_boxes(tf.cast(images, "float16"), PLACES, None),
        (real(1, 6, 8, 1),),
        lambda images: painted([[1.0]])(images, PLACES),
        ops=("DrawBoundingBoxes",),
        order=0,
        dtypes=("float16",),
        result=lambda dtype: "float16",
    ),
)
