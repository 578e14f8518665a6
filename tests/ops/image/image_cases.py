"""Calls of `tf.image` for which TensorFlow's numbers are known: `image_numbers.json`, beside this file.

`python -m tests.ops.image.image_cases` writes them where TensorFlow 2.21 is installed. A case is `(call, arrays)`: the call
takes the module, `tf`, and tensors of the arrays. The numbers are the dtypes and values of the results, and the
gradients to the floating arrays of the sum of the results, each times its number.
"""

import json
from pathlib import Path

import numpy as np

from tests.ops.table import generator

FILE = Path(__file__).with_name("image_numbers.json")
DIGITS = 7

CONVERSIONS = (
    ("uint8", "float32"), ("uint8", "uint16"), ("uint16", "uint8"), ("uint8", "int8"), ("int16", "uint8"),
    ("int32", "uint8"), ("int8", "float16"), ("uint16", "float64"), ("float64", "float32"), ("float32", "float32"),
)  # fmt: skip
BOXES = np.float32(
    [[0, 0, 1, 1], [0.1, 0.2, 0.7, 0.9], [-0.2, 0.3, 1.3, 0.8], [0.9, 0.8, 0.1, 0.3], [0.5, 0.4, 0.5, 0.4], [0, 0, 0.5, 1.5]]
)
IMAGE_OF_BOX = np.int32([0, 1, 1, 0, 1, 0])
EDGES = np.float32(
    [
        [0, 0, 0], [1, 1, 1], [0.5, 0.5, 0.5], [1, 0, 0], [0, 1, 0], [0, 0, 1], [1, 1, 0], [0, 1, 1], [1, 0, 1],
        [0.2, 0.2, 0.7], [0.7, 0.2, 0.2], [0.2, 0.7, 0.2], [0.7, 0.7, 0.2], [-0.1, 0.5, 0.2], [-0.1, -0.2, -0.3],
        [0.1, 0.9, 0.3], [0.3, 0.1, 0.9], [0.9, 0.3, 0.1], [2, 1, 0.5],
    ]
)  # fmt: skip


def numbers(*shape, dtype="float32"):
    """Numbers in [0, 1), or integers in [0, 256)."""
    random = generator("images", shape, 0)
    return random.uniform(0, 1, shape).astype(dtype) if dtype.startswith("f") else random.integers(0, 256, shape).astype(dtype)


def calls(name, *arguments, **options):
    """A call of `tf.image.<name>` with the tensors of the case before these arguments."""
    return lambda tf, *x: getattr(tf.image, name)(*x, *arguments, **options)


def cases():
    """Name → `(call, arrays)`."""
    found = {}

    def case(name, call, *arrays):
        assert name not in found, name
        found[name] = call, arrays

    # Resizing: fewer pixels, more pixels, both; other dtypes.
    for method in ("bilinear", "nearest", "bicubic", "area", "lanczos3", "lanczos5", "gaussian", "mitchellcubic"):
        for antialias in (False, True) if method not in ("nearest", "area") else (False,):
            for old, new in (((5, 7), (2, 3)), ((3, 2), (7, 5)), ((23, 1), (3, 2))):
                name = f"resize {method} {old} to {new}{' antialias' * antialias}"
                case(name, calls("resize", new, method, antialias=antialias), numbers(1, *old, 2))
        case(f"resize {method} uint8", calls("resize", (2, 4), method), numbers(3, 5, 1, dtype="uint8"))
    case("resize nearest float64", calls("resize", (4, 3), "nearest"), numbers(2, 2, 2, 1, dtype="float64"))
    case("resize bilinear float16", calls("resize", (4, 3)), numbers(2, 3, 1, dtype="float16"))
    case("resize to its own size", calls("resize", (2, 3), "bicubic"), numbers(2, 3, 1))
    for size in ((5, 9), (9, 5), (3, 3)):
        case(f"resize in proportion to {size}", calls("resize", size, preserve_aspect_ratio=True), numbers(4, 6, 1))
    case("resize_with_pad, high", calls("resize_with_pad", 7, 4), numbers(5, 4, 2))
    case("resize_with_pad, wide", calls("resize_with_pad", 3, 8, "bicubic", antialias=True), numbers(2, 4, 5, 1))

    # Crops, flips
    for size in ((2, 2), (7, 6), (2, 7), (7, 2), (3, 4)):
        case(f"resize_with_crop_or_pad {size}", calls("resize_with_crop_or_pad", *size), numbers(5, 4, 1))
    for fraction in (0.1, 0.5, 0.73, 1.0):
        case(f"central_crop {fraction}", calls("central_crop", fraction), numbers(2, 7, 4, 1))
    case("crop_to_bounding_box", calls("crop_to_bounding_box", 1, 2, 3, 2), numbers(5, 4, 2))
    case("pad_to_bounding_box", calls("pad_to_bounding_box", 1, 2, 5, 4), numbers(2, 2, 2, 1))
    for turns in (-1, 1, 2, 4):
        case(f"rot90 by {turns}", calls("rot90", turns), numbers(2, 3, 2))
    case("rot90 of a batch", calls("rot90"), numbers(2, 2, 3, 1))
    for name in ("flip_left_right", "flip_up_down", "transpose"):
        case(name, calls(name), numbers(2, 3, 2))
        case(f"{name} of a batch", calls(name), numbers(2, 2, 3, 1))

    # Colours
    for name in ("rgb_to_hsv", "hsv_to_rgb", "rgb_to_yiq", "yiq_to_rgb", "rgb_to_yuv", "yuv_to_rgb", "rgb_to_grayscale"):
        case(name, calls(name), EDGES)
    case("rgb_to_hsv float64", calls("rgb_to_hsv"), numbers(2, 4, 3, dtype="float64"))
    case("rgb_to_grayscale uint8", calls("rgb_to_grayscale"), numbers(3, 4, 3, dtype="uint8"))
    case("grayscale_to_rgb", calls("grayscale_to_rgb"), numbers(2, 2, 1))
    for old, new in CONVERSIONS:
        values = [0, 0.1, 0.25, 0.9] if old[0] == "f" else [0, 1, 7, 100, np.iinfo(old).max - 1]
        case(f"convert {old} to {new}", calls("convert_image_dtype", new), np.array(values, old))
    case("convert, saturated", calls("convert_image_dtype", "uint8", saturate=True), np.float32([-0.5, 0.5, 1, 1.2]))
    case("convert int16 to uint8, saturated", calls("convert_image_dtype", "uint8", saturate=True), np.int16([-3, 300]))

    # Adjustments
    for dtype in ("float32", "uint8", "int16", "float64"):
        image = numbers(3, 2, 3, dtype=dtype)
        for name, argument in (
            ("adjust_brightness", 0.1),
            ("adjust_contrast", 2.0),
            ("adjust_saturation", 0.5),
            ("adjust_hue", -0.3),
            ("adjust_gamma", 2),
        ):
            case(f"{name} of {dtype}", calls(name, argument), image)
        case(f"per_image_standardization of {dtype}", calls("per_image_standardization"), image)
    case("adjust_contrast to nothing", calls("adjust_contrast", 0), numbers(2, 2, 3, 2))
    case("adjust_saturation beyond 1", calls("adjust_saturation", 2.0), EDGES[None])
    case("adjust_saturation below 0", calls("adjust_saturation", -1.0), EDGES[None])
    case("adjust_hue all round", calls("adjust_hue", 1.0), EDGES[None])
    case("adjust_hue of edges", calls("adjust_hue", 0.2), EDGES[None])
    case("adjust_gamma with gain", calls("adjust_gamma", 0.5, 1.5), numbers(2, 2, 3))
    case("per_image_standardization of one colour", calls("per_image_standardization"), np.ones([2, 2, 3, 2], "float32"))

    # Measures
    pair = numbers(2, 6, 7, 2)
    for dtype, greatest in (("float32", 1.0), ("uint8", 255)):
        images = numbers(2, 3, 4, 2, dtype=dtype)
        case(f"psnr of {dtype}", calls("psnr", greatest), images, images[::-1].copy())
        images = numbers(11, 12, 1, dtype=dtype)
        case(f"ssim of {dtype}", calls("ssim", greatest), images, (0.8 * images).astype(dtype))
    case("ssim of one and many", calls("ssim", 2.0, 4, 0.8, 0.02, 0.05), pair[0], pair)
    case("ssim map", calls("ssim", 1.0, 5, 1.0, return_index_map=True), pair[0], 1 - pair[0])
    large = numbers(1, 15, 13, 1)
    case("ssim_multiscale", calls("ssim_multiscale", 1.0, (0.2, 0.3, 0.5), 3), large, 0.7 * large + 0.1)
    case("total_variation", calls("total_variation"), numbers(3, 4, 2))
    case("total_variation of a batch", calls("total_variation"), numbers(2, 3, 4, 1))
    case("image_gradients", calls("image_gradients"), numbers(1, 3, 4, 2))
    case("image_gradients of a pixel", calls("image_gradients"), numbers(2, 1, 1, 1))
    case("sobel_edges", calls("sobel_edges"), numbers(1, 3, 4, 2))

    # Boxes and patches
    for method in ("bilinear", "nearest"):
        for size in ((3, 4), (1, 2)):
            options = {"method": method, "extrapolation_value": 0.5}
            case(
                f"crop_and_resize {method} {size}",
                calls("crop_and_resize", IMAGE_OF_BOX, size, **options),
                numbers(2, 5, 6, 1),
                BOXES,
            )
    case("crop_and_resize uint8", calls("crop_and_resize", [0], (2, 2)), numbers(1, 3, 3, 2, dtype="uint8"), BOXES[1:2])
    for padding in ("SAME", "VALID"):
        for size, stride, rate in (((2, 3), (1, 2), (1, 1)), ((2, 2), (2, 1), (1, 2)), ((1, 1), (3, 3), (1, 1))):
            attributes = [1, *size, 1], [1, *stride, 1], [1, *rate, 1], padding
            name = f"extract_patches {size} every {stride} at rate {rate} {padding}"
            case(name, calls("extract_patches", *attributes), numbers(1, 4, 5, 2))
        volume = [1, 2, 1, 2, 1], [1, 1, 2, 2, 1], padding
        case(
            f"extract_volume_patches {padding}", lambda tf, x, a=volume: tf.extract_volume_patches(x, *a), numbers(1, 3, 3, 4, 1)
        )

    # Detected objects
    scores = np.float32([0.9, 0.8, 0.7, 0.6, 0.5, 0.4])
    for options in ({}, {"iou_threshold": 0.2}, {"score_threshold": 0.55}):
        case(f"non_max_suppression {options}", calls("non_max_suppression", scores, 4, **options), BOXES)
    for sigma in (0.0, 0.3):
        case(
            f"non_max_suppression_with_scores, sigma {sigma}",
            calls("non_max_suppression_with_scores", scores, 9, 0.5, 0.1, sigma),
            BOXES,
        )
    for colours, depth in ((None, 4), (EDGES[3:5], 3)):
        name = f"draw_bounding_boxes, {depth} channels"
        case(name, calls("draw_bounding_boxes", BOXES[None, 1:], colours), numbers(1, 4, 5, depth))
    return found


def numbers_of(tf, call, arrays):
    """`{"dtypes": …, "values": …, "gradients": …}` of a case: a dtype and a value for each result, a gradient, or None,
    for each array; or the name of the error that asking for gradients raised.
    """
    tensors = [tf.constant(array) for array in arrays]
    floating = [x for x in tensors if x.dtype.is_floating]
    with tf.GradientTape() as tape:
        tape.watch(floating)
        results = call(tf, *tensors)
        results = list(results) if isinstance(results, list | tuple) else [results]
        weighted = [tf.reduce_sum(y * weights(y)) for y in results if y.dtype.is_floating]
    gradients = [None] * len(tensors)
    if weighted and floating:
        try:
            found = iter(tape.gradient(weighted, floating))
            found = [next(found) if x.dtype.is_floating else None for x in tensors]
            gradients = [None if dx is None else dx.numpy() for dx in found]
        except LookupError:
            gradients = "LookupError"
    return {
        "dtypes": [y.dtype.name for y in results],
        "values": [y.numpy() for y in results],
        "gradients": gradients,
    }


def weights(y):
    """Numbers around 1, each another, of the shape and dtype of a result."""
    return np.cos(np.arange(y.shape.num_elements())).reshape(y.shape).astype(y.dtype.as_numpy_dtype)


def written(entry):
    """What JSON can hold, with few digits."""
    if isinstance(entry, dict):
        return {key: written(value) for key, value in entry.items()}
    if isinstance(entry, list):
        return [written(value) for value in entry]
    if isinstance(entry, np.ndarray | np.generic):
        return written(np.asarray(entry).tolist())
    return float(f"{entry:.{DIGITS}g}") if isinstance(entry, float) else entry


if __name__ == "__main__":
    import tensorflow

    rows = [f"{json.dumps(name)}: {json.dumps(written(numbers_of(tensorflow, *case)))}" for name, case in cases().items()]
    FILE.write_text("{\n" + ",\n".join(rows) + "\n}\n")
