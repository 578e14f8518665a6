"""Images: TensorFlow's numbers and errors for the whole family, and what the functions that draw numbers do."""

import json

import numpy as np
import pytest

import gradtape as tf
from tests.agreement import agree
from tests.ops.image import image_cases

image = tf.image
CASES = image_cases.cases()
NUMBERS = json.loads(image_cases.FILE.read_text())
Invalid = tf.errors.InvalidArgumentError
TOLERANCE = {"float16": 2e-3, "float32": 3e-6, "float64": 3e-6}


def test_every_case_has_numbers():
    assert list(CASES) == list(NUMBERS)


@pytest.mark.parametrize("name", CASES)
def test_numbers_are_tensorflows(name, count):
    expected, received = NUMBERS[name], image_cases.numbers_of(tf, *CASES[name])
    assert received["dtypes"] == expected["dtypes"]
    for value, numbers, dtype in zip(received["values"], expected["values"], expected["dtypes"], strict=True):
        same(value, numbers, TOLERANCE.get(dtype, 0))
    count("tf.image: calls compared with TensorFlow's numbers")
    gradients = expected["gradients"]
    if isinstance(gradients, str):
        assert received["gradients"] == gradients
        return
    for x, dx, numbers in zip(CASES[name][1], received["gradients"], gradients, strict=True):
        assert (dx is None) == (numbers is None), f"gradient is {dx}, not {numbers}"
        if dx is not None:
            assert dx.dtype == x.dtype
            same(dx, numbers, TOLERANCE[x.dtype.name])


def same(array, numbers, tolerance):
    """To rounding, of the largest number there is: sums of numbers of both signs are no better than that."""
    numbers = np.array(numbers)
    assert array.shape == numbers.shape
    scale = max([1.0, *abs(numbers.ravel())])
    np.testing.assert_allclose(array.astype("float64"), numbers, tolerance, tolerance * scale)


# ---------------------------------------------------------------------------------------------------------------------
# Errors


def ones(*shape, dtype="float32"):
    return tf.ones(shape, dtype)


ERRORS = {
    "resize, a matrix": (lambda: image.resize(ones(2, 2), [2, 2]), ValueError, "'images' must have either 3 or 4 dimensions"),
    "resize, fractions": (lambda: image.resize(ones(2, 2, 1), [2.0, 2.0]), ValueError, "'size' must be a 1-D int32 Tensor"),
    "resize, three sizes": (lambda: image.resize(ones(2, 2, 1), [2, 2, 1]), ValueError, "1-D Tensor of 2 elements: new_height"),
    "resize, one size": (lambda: image.resize(ones(2, 2, 1), 2), ValueError, "1-D Tensor of 2 elements: new_height"),
    "resize, no such method": (lambda: image.resize(ones(2, 2, 1), [1, 1], "foo"), ValueError, "not implemented: foo"),
    "resize_with_pad, a matrix": (lambda: image.resize_with_pad(ones(2, 2), 2, 2), ValueError, "either 3 or 4 dimensions"),
    "resize_with_pad to nothing": (lambda: image.resize_with_pad(ones(2, 2, 1), 0, 2), ValueError, "target_height must be > 0"),
    "crop_or_pad to nothing": (
        lambda: image.resize_with_crop_or_pad(ones(2, 2, 1), 2, 0),
        ValueError,
        "target_width must be > 0. Received 0",
    ),
    "crop_or_pad, a matrix": (lambda: image.resize_with_crop_or_pad(ones(2, 2), 1, 2), ValueError, "either 3 or 4 dimensions"),
    "central_crop of nothing": (lambda: image.central_crop(ones(2, 2, 1), 0), ValueError, r"must be within \(0, 1\]"),
    "central_crop, a matrix": (lambda: image.central_crop(ones(2, 2), 0.5), ValueError, r"\(shape \(2, 2\)\) must be at least"),
    "central_crop, five axes": (lambda: image.central_crop(ones(1, 2, 2, 2, 1), 0.5), ValueError, "Had rank = 5"),
    "crop, a matrix": (lambda: image.crop_to_bounding_box(ones(2, 2), 0, 0, 1, 1), ValueError, "either 3 or 4 dimensions"),
    "crop, nothing there": (lambda: image.crop_to_bounding_box(ones(0, 2, 1), 0, 0, 1, 1), ValueError, "inner 3 dims of 'image"),
    "crop before the image": (
        lambda: image.crop_to_bounding_box(ones(2, 2, 1), -1, 0, 1, 1),
        ValueError,
        "offset_height must be >= 0. Received -1",
    ),
    "crop of nothing": (lambda: image.crop_to_bounding_box(ones(2, 2, 1), 0, 0, 1, 0), ValueError, "target_width must be > 0"),
    "crop beyond the image": (
        lambda: image.crop_to_bounding_box(ones(2, 3, 1), 0, 1, 1, 3),
        ValueError,
        r"width must be >= target \+ offset. Received 3, 3, 1",
    ),
    "crop beyond the image, by a tensor": (
        lambda: image.crop_to_bounding_box(ones(2, 2, 1), tf.constant(1), 0, 2, 1),
        Invalid,
        r"height must be >= target \+ offset",
    ),
    "crop before the image, by a tensor": (
        lambda: image.crop_to_bounding_box(ones(2, 2, 1), 0, tf.constant(-1), 2, 1),
        Invalid,
        "offset_width must be >= 0",
    ),
    "pad to less, by a tensor": (
        lambda: image.pad_to_bounding_box(ones(2, 2, 1), tf.constant(2), 0, 3, 3),
        Invalid,
        "height must be <= target - offset",
    ),
    "pad to less": (
        lambda: image.pad_to_bounding_box(ones(2, 2, 1), 2, 0, 3, 3),
        ValueError,
        "height must be <= target - offset. Received 2, 3, 2",
    ),
    "pad before the target": (
        lambda: image.pad_to_bounding_box(ones(2, 2, 1), 0, -2, 3, 3),
        ValueError,
        "offset_width must be >= 0. Received -2",
    ),
    "flip, a matrix": (lambda: image.flip_left_right(ones(2, 2)), ValueError, "must be at least three-dimensional"),
    "flip, five axes": (lambda: image.flip_up_down(ones(1, 1, 2, 2, 1)), ValueError, "either 3 or 4 dimensions"),
    "flip of nothing": (lambda: image.flip_up_down(ones(0, 2, 2)), ValueError, r"must be > 0: \(0, 2, 2\)"),
    "rot90, a list": (lambda: image.rot90(ones(2, 2, 1), [1]), ValueError, r"Shape \(1,\) must have rank 0"),
    "rot90, a fraction": (lambda: image.rot90(ones(2, 2, 1), 1.0), TypeError, "Cannot convert 1.0"),
    "transpose, five axes": (lambda: image.transpose(ones(1, 1, 2, 2, 1)), ValueError, "either 3 or 4 dimensions"),
    "standardization of a matrix": (lambda: image.per_image_standardization(ones(2, 2)), ValueError, "at least three-dim"),
    "hue beyond the circle": (lambda: image.adjust_hue(ones(2, 2, 3), 1.5), ValueError, r"interval \[-1, 1\]. Received 1.5"),
    "hue beyond the circle, a tensor": (lambda: image.adjust_hue(ones(2, 2, 3), tf.constant(-2.0)), ValueError, "interval"),
    "gamma below 0": (lambda: image.adjust_gamma(ones(2, 2, 3), -1.0), ValueError, "Gamma should be a non-negative real number"),
    "gamma below 0, a tensor": (lambda: image.adjust_gamma(ones(2, 2, 3), tf.constant(-1.0)), Invalid, "Gamma should be a non-n"),
    "convert to complex": (lambda: image.convert_image_dtype(ones(2), "complex64"), AttributeError, "dtype must be either float"),
    "convert from bool": (lambda: image.convert_image_dtype(ones(2, dtype="bool"), "float32"), AttributeError, "image dtype"),
    "grey with three channels": (lambda: image.grayscale_to_rgb(ones(2, 2, 3)), ValueError, "Last dimension of a grayscale"),
    "grey vector": (lambda: image.grayscale_to_rgb(ones(1)), ValueError, "must be at least two-dimensional"),
    "grey of four channels": (lambda: image.rgb_to_grayscale(ones(2, 2, 4)), Invalid, "Matrix size-incompatible"),
    "yiq of integers": (lambda: image.rgb_to_yiq(ones(2, 2, 3, dtype="int32")), TypeError, "Cannot convert"),
    "total_variation of a matrix": (lambda: image.total_variation(ones(2, 2)), ValueError, "must be either 3 or 4-dimensional"),
    "psnr, other sizes": (lambda: image.psnr(ones(2, 2, 1), ones(2, 3, 1), 1.0), Invalid, r"Incompatible shapes: \[2,2,1\] vs"),
    "ssim, other sizes": (lambda: image.ssim(ones(12, 12, 1), ones(12, 11, 1), 1.0), ValueError, r"\(12, 11, 1\) are incompat"),
    "ssim, other batches": (lambda: image.ssim(ones(2, 9, 9, 1), ones(3, 9, 9, 1), 1.0), ValueError, "images are not compatible"),
    "ssim of matrices": (lambda: image.ssim(ones(12, 12), ones(12, 12), 1.0), ValueError, "must have rank at least 3"),
    "ssim, small images": (lambda: image.ssim(ones(9, 12, 1), ones(9, 12, 1), 1.0), Invalid, "filter_size=11"),
    "ssim_multiscale, small images": (lambda: image.ssim_multiscale(ones(12, 12, 1), ones(12, 12, 1), 1.0), Invalid, "6,6,1"),
    "image_gradients of one image": (lambda: image.image_gradients(ones(2, 2, 1)), ValueError, "expects a 4D tensor"),
    "sobel_edges of one image": (lambda: image.sobel_edges(ones(3, 3, 1)), Invalid, "The first dimension of paddings"),
    "sobel_edges of one row": (lambda: image.sobel_edges(ones(1, 1, 3, 1)), Invalid, "paddings must be less than the dimension"),
    "brightness below 0": (lambda: image.random_brightness(ones(2, 2, 3), -1), ValueError, "max_delta must be non-negative"),
    "hue of more than half": (lambda: image.random_hue(ones(2, 2, 3), 0.6), ValueError, "max_delta must be <= 0.5. Received 0.6"),
    "hue below 0": (lambda: image.stateless_random_hue(ones(2, 2, 3), -0.1, (1, 2)), ValueError, "max_delta must be non-neg"),
    "contrast, no range": (lambda: image.random_contrast(ones(2, 2, 3), 1, 1), ValueError, "upper must be > lower"),
    "saturation below 0": (lambda: image.random_saturation(ones(2, 2, 3), -1, 1), ValueError, "lower must be non-negative"),
    "saturation, no seed": (lambda: image.stateless_random_saturation(ones(2, 2, 3), 1, 2), ValueError, r"a value \(None\)"),
    "random_crop, too large": (lambda: image.random_crop(ones(2, 2), [3, 1]), Invalid, r"got \[2,2\] and \[3,1\]"),
    "random_crop, an axis more": (lambda: image.random_crop(ones(2, 2), [1, 1, 1]), Invalid, r"shapes: \[2\] vs. \[3\]"),
    "random flip, five axes": (lambda: image.random_flip_up_down(ones(1, 1, 2, 2, 1)), ValueError, "either 3 or 4 dimensions"),
}  # fmt: skip


@pytest.mark.parametrize("name", ERRORS)
def test_errors(name):
    function, error, match = ERRORS[name]
    with pytest.raises(error, match=match):
        function()


# ---------------------------------------------------------------------------------------------------------------------
# What is better than TensorFlow's


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float64"])
@pytest.mark.parametrize("method", ["bicubic", "lanczos3"])
def test_gradients_of_resizing_flow_to_every_float(method, dtype):
    """TensorFlow gives None, or an error, for a dtype other than float32 (and float64 with bicubic)."""
    x = tf.cast(image_cases.numbers(3, 2, 1), dtype)
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = image.resize(x, (6, 4), method)
    dx = tape.gradient(y, x)
    assert (dx.dtype.name, y.dtype.name) == (dtype, "float32")
    agree(tf.reduce_sum(tf.cast(dx, "float32")), 24.0, rtol=2e-2)


def test_resizing_has_a_second_derivative_where_tensorflow_has_none():
    x = tf.constant(image_cases.numbers(1, 2, 2, 1))
    with tf.GradientTape() as outer:
        outer.watch(x)
        with tf.GradientTape() as inner:
            inner.watch(x)
            y = tf.reduce_sum(image.resize(x, (1, 1)) ** 2)
        dx = inner.gradient(y, x)
    agree(outer.gradient(dx, x), np.full([1, 2, 2, 1], 0.5))


def test_hue_and_saturation_of_half_precision():
    """TensorFlow has no kernel for it on a processor."""
    x = tf.constant(image_cases.numbers(2, 2, 3))
    for change in (image.adjust_hue, image.adjust_saturation, image.adjust_contrast):
        y = change(tf.cast(x, "float16"), 0.3)
        assert y.dtype == tf.float16
        agree(tf.cast(y, "float32"), change(x, 0.3).numpy(), atol=2e-3)


@pytest.mark.parametrize("offset", [0, 1, 2])
def test_offsets_may_be_tensors(offset):
    """They are operands, so that crops from any place are one program."""
    x, top = tf.constant(image_cases.numbers(2, 4, 3, 1)), tf.constant(offset) * 1
    with tf.GradientTape(persistent=True) as tape:
        tape.watch(x)
        crop = image.crop_to_bounding_box(x, top, 0, 2, 3)
        padded = image.pad_to_bounding_box(x, top, 1, 6, 5)
    np.testing.assert_array_equal(crop, x[:, offset : offset + 2])
    np.testing.assert_array_equal(padded, image.pad_to_bounding_box(x, offset, 1, 6, 5))
    assert tf.reduce_sum(tape.gradient(crop, x)) == 12
    np.testing.assert_array_equal(tape.gradient(padded, x), np.ones([2, 4, 3, 1]))


# ---------------------------------------------------------------------------------------------------------------------
# At random

PIXELS = np.arange(24, dtype="float32").reshape(2, 4, 3) / 24
RANDOM = {
    "brightness": (0.3,),
    "contrast": (0.2, 1.8),
    "hue": (0.3,),
    "saturation": (0.2, 1.8),
    "flip_left_right": (),
    "flip_up_down": (),
}


def stateless(name, x, *arguments, seed):
    return getattr(image, f"stateless_random_{name}")(x, *arguments, seed=seed).numpy()


@pytest.mark.parametrize("name", RANDOM)
def test_a_seed_determines_the_stateless(name):
    draws = [stateless(name, PIXELS, *RANDOM[name], seed=(seed, 5)) for seed in (*range(8), 0)]
    np.testing.assert_array_equal(draws[0], draws[-1])
    assert any(not np.array_equal(draws[0], draw) for draw in draws)


@pytest.mark.parametrize("name", RANDOM)
def test_the_stateful_draw_anew_and_repeat_with_the_global_seed(name):
    function = getattr(image, f"random_{name}")

    def several():
        tf.random.set_seed(3)
        return np.stack([function(PIXELS, *RANDOM[name]).numpy() for _ in range(8)])

    draws = several()
    assert any(not np.array_equal(draws[0], draw) for draw in draws)
    np.testing.assert_array_equal(draws, several())
    tf.random.set_seed(4)
    one = function(PIXELS, *RANDOM[name], seed=5).numpy()
    tf.random.set_seed(4)
    np.testing.assert_array_equal(one, function(PIXELS, *RANDOM[name], seed=5).numpy())


@pytest.mark.parametrize("name, adjust, low", [("brightness", "adjust_brightness", -0.3), ("contrast", "adjust_contrast", 0.2)])
def test_random_adjustments_are_within_the_range(name, adjust, low):
    """Each pixel lies between those of the least and of the greatest adjustment, and they spread over the range."""
    high = 0.3 if name == "brightness" else 1.8
    least, most = [getattr(image, adjust)(PIXELS, bound).numpy()[0, 0, 0] for bound in (low, high)]
    draws = np.array([stateless(name, PIXELS, *RANDOM[name], seed=(seed, 7))[0, 0, 0] for seed in range(60)])
    parts = (draws - least) / (most - least)
    assert ((parts >= 0) & (parts <= 1)).all()
    assert (parts.min() < 0.15) and (parts.max() > 0.85)


@pytest.mark.parametrize("axis, name", [(1, "flip_left_right"), (0, "flip_up_down")])
def test_flips_are_of_each_image_by_itself(axis, name):
    batch = np.stack([PIXELS + i for i in range(64)])
    flipped = stateless(name, batch, seed=(1, 2))
    turned = [np.array_equal(after, np.flip(before, axis)) for before, after in zip(batch, flipped, strict=True)]
    kept = [np.array_equal(after, before) for before, after in zip(batch, flipped, strict=True)]
    assert np.logical_xor(turned, kept).all()
    assert 16 < sum(turned) < 48


def test_crops_are_from_every_place():
    places = set()
    for seed in range(80):
        part = image.stateless_random_crop(PIXELS, (2, 2, 2), (seed, 3)).numpy()
        column, channel = divmod(int((part[0, 0, 0] * 24).round()), 3)
        np.testing.assert_array_equal(part, PIXELS[:, column : column + 2, channel : channel + 2])
        places.add((column, channel))
    assert places == {(column, channel) for column in range(3) for channel in range(2)}


def test_a_crop_of_everything_is_everything():
    np.testing.assert_array_equal(image.random_crop(PIXELS, PIXELS.shape), PIXELS)
    assert image.random_crop(PIXELS, (0, 4, 3)).shape == (0, 4, 3)


@pytest.mark.parametrize(
    "call",
    [
        lambda x: image.random_crop(x, (1, 2, 3)),
        lambda x: image.random_flip_left_right(x),
        lambda x: image.random_hue(image.random_brightness(x, 0.1), 0.2),
        lambda x: image.random_saturation(image.random_contrast(x, 0.5, 1.5), 0.5, 1.5),
    ],
    ids=["crop", "flip", "hue", "saturation"],
)
def test_nothing_runs_before_somebody_looks(call):
    y = call(tf.constant(PIXELS) * 0.5)
    assert y.node.value is None
    assert np.isfinite(y.numpy()).all()


def test_gradients_go_back_to_where_pixels_came_from():
    x = tf.constant(PIXELS)
    with tf.GradientTape(persistent=True) as tape:
        tape.watch(x)
        crop = image.stateless_random_crop(x, (1, 2, 3), (1, 2))
        flipped = image.stateless_random_flip_left_right(x, (1, 3))
    numbers = tf.reshape(tf.range(6.0), (1, 2, 3)) + 1
    dx = tape.gradient(crop, x, output_gradients=numbers).numpy()
    np.testing.assert_array_equal(dx[dx != 0], [1, 2, 3, 4, 5, 6])
    np.testing.assert_array_equal(PIXELS[dx != 0], crop.numpy().ravel())
    agree(tape.gradient(flipped, x, output_gradients=flipped), PIXELS)


@tf.function
def parts(count, size, boxes, covered, areas):
    """Begin, size and corners of so many parts of an image."""
    found = tf.TensorArray(tf.float32, count)
    for i in tf.range(count):
        part = image.stateless_sample_distorted_bounding_box(size, boxes, [i, 7], min_object_covered=covered, area_range=areas)
        numbers = [part.begin[:2], part.size[:2]]
        found = found.write(i, tf.concat([*[tf.cast(x, tf.float32) for x in numbers], part.bboxes[0, 0]], 0))
    return found.stack()


@pytest.mark.parametrize(
    "covered, areas, mean, share",  # of 3,000 parts that TensorFlow drew: of all numbers, and mean and deviation of the area
    [
        (0.1, (0.05, 1.0), [10.42, 20.11, 38.38, 39.81], (0.353, 0.225)),
        (0.7, (0.2, 0.6), [6.75, 17.82, 44.82, 46.15], (0.435, 0.107)),
    ],
)
def test_parts_are_distributed_as_tensorflows(covered, areas, mean, share):
    boxes = tf.constant([[[0.1, 0.2, 0.6, 0.7], [0.5, 0.5, 0.9, 0.95]]])
    found = parts(tf.constant(2000), tf.constant([60, 80, 3]), boxes, covered, areas).numpy()
    area = found[:, 2] * found[:, 3] / 4800
    np.testing.assert_allclose(found[:, :4].mean(0), mean, atol=1.0)
    np.testing.assert_allclose([area.mean(), area.std()], share, atol=0.02)
    assert areas[0] <= area.min() and area.max() <= areas[1]
    assert (abs(found[:, 3] / found[:, 2] - 1.04) < 0.35).all() and (found[:, :2] >= 0).all()
    np.testing.assert_allclose(found[:, 4:6] * [60, 80], found[:, :2], atol=1e-3)
    np.testing.assert_allclose(found[:, 6:] * [60, 80], found[:, :2] + found[:, 2:4], atol=1e-3)


def test_an_image_without_boxes_is_cut_in_a_dataset():
    def cut(pixels):
        begin, size, _ = image.sample_distorted_bounding_box(
            tf.shape(pixels), tf.zeros([1, 0, 4]), area_range=(0.3, 0.9), use_image_if_no_bounding_boxes=True
        )
        return image.resize(tf.slice(pixels, begin, size), [4, 4])

    dataset = tf.data.Dataset.from_tensors(tf.ones([20, 30, 3])).repeat(2).map(cut)
    assert [x.shape.as_list() for x in dataset] == [[4, 4, 3]] * 2
