"""Interpolation of images: maps of coordinates, projections, elastic deformations."""

import itertools
from typing import Any

from keras.src.backend.config import standardize_data_format
from keras.src.random.seed_generator import draw_seed

import gradtape as tf
from gradtape._src.ops.math.segment import take_rows
from keras_gradtape.src.ops._image.filters import gaussian_blur
from keras_gradtape.src.ops._image.layout import batched, check_rank, one_of
from keras_gradtape.src.ops.core import cast, convert_to_tensor, shape

ORDERS = {"nearest": 0, "bilinear": 1}
FILL_MODES = ("constant", "nearest", "wrap", "mirror", "reflect")


# ---------------------------------------------------------------------------------------------------------------------
# One axis: the pixels around a coordinate


def _within(index, size, mode):
    """Return `index` mapped into an axis of `size`, and a mask of valid indices (None if all are)."""
    if mode == "constant":
        inside = tf.logical_and(index >= 0, index < size)
        return tf.clip_by_value(index, 0, size - 1), inside
    if mode == "nearest":
        return tf.clip_by_value(index, 0, size - 1), None
    if mode == "wrap":
        return index % size, None
    if size == 1:
        return tf.zeros_like(index), None
    if mode == "mirror":  # d c b | a b c d | c b a
        return tf.abs((index + size - 1) % (2 * size - 2) - (size - 1)), None
    index = index % (2 * size)  # reflect: d c b a | a b c d | d c b a
    return tf.minimum(index, 2 * size - 1 - index), None


def _pixels(coordinate, size, order, mode):
    """Return `[(index, mask or None, weight or None)]` of the pixels around `coordinate`."""
    if coordinate.dtype.is_integer:
        return [(*_within(coordinate, size, mode), None)]
    if order == 0:
        nearest = tf.floor(tf.abs(coordinate) + 0.5) * tf.sign(coordinate)
        return [(*_within(tf.cast(nearest, "int32"), size, mode), None)]
    lower = tf.floor(coordinate)
    above = coordinate - lower
    index = tf.cast(lower, "int32")
    return [(*_within(index, size, mode), 1 - above), (*_within(index + 1, size, mode), above)]


def _product(factors, combine):
    result = None
    for factor in factors:
        if factor is not None:
            result = factor if result is None else combine(result, factor)
    return result


def _sampled(rows, extents, coordinates, order, mode, fill_value, offset=0):
    """Sample images at `coordinates`, one tensor per axis; the first axis of `rows` is the flattened image of shape `extents`.

    `offset` is the start of an image in `rows`, which may have a channel axis. Integers are rounded.
    """
    dtype = rows.dtype
    weight_dtype = coordinates[0].dtype if not dtype.is_floating else dtype
    has_channels = rows.ndim > 1
    pixels = [_pixels(c, size, order, mode) for c, size in zip(coordinates, extents, strict=True)]
    total: Any = None
    for corner in itertools.product(*pixels):
        indices, inside, weights = zip(*corner, strict=True)
        flat = 0
        for index, size in zip(indices, extents, strict=True):
            flat = flat * size + index
        values = take_rows(rows, flat + offset)
        inside, weight = _product(inside, tf.logical_and), _product(weights, tf.multiply)
        if inside is not None:
            values = tf.where(tf.expand_dims(inside, -1) if has_channels else inside, values, cast(fill_value, dtype))
        if weight is not None:
            weight = tf.cast(weight, weight_dtype)
            values = tf.cast(values, weight_dtype) * (tf.expand_dims(weight, -1) if has_channels else weight)
        total = values if total is None else total + values
    if dtype.is_integer and total.dtype.is_floating:
        total = tf.round(total)
    return tf.cast(total, dtype)


def map_coordinates(inputs, coordinates, order, fill_mode="constant", fill_value=0.0):
    inputs = convert_to_tensor(inputs)
    if isinstance(coordinates, (list, tuple)):
        coordinates = tf.stack([convert_to_tensor(c) for c in coordinates])
    coordinates = convert_to_tensor(coordinates)
    if coordinates.shape[0] != inputs.ndim:
        raise ValueError(
            "First dim of `coordinates` must be the same as the rank of `inputs`. "
            f"Received inputs with shape: {inputs.shape} and coordinate leading dim of {coordinates.shape[0]}"
        )
    if coordinates.ndim < 2:
        raise ValueError(f"Invalid coordinates rank: expected at least rank 2. Received input with shape: {coordinates.shape}")
    one_of("fill_mode", fill_mode, FILL_MODES)
    one_of("order", order, (0, 1))
    rows = tf.reshape(inputs, [-1])
    return _sampled(rows, tuple(inputs.shape), tf.unstack(coordinates), order, fill_mode, fill_value)


# ---------------------------------------------------------------------------------------------------------------------
# Images, [batch, height, width, channels]


def _at(images, y, x, order, mode, fill_value):
    """Sample `images` at `y` and `x`, [batch or 1, height, width]."""
    batch, height, width, channels = shape(images)
    rows = tf.reshape(images, [-1, channels])
    offset = tf.range(batch)[:, None, None] * (height * width)
    return _sampled(rows, (height, width), (y, x), order, mode, fill_value, offset)


def _grid(height, width, dtype="float32"):
    y, x = tf.meshgrid(tf.range(height), tf.range(width), indexing="ij")
    return tf.cast(y[None], dtype), tf.cast(x[None], dtype)


def _projected(images, transforms, interpolation, mode, fill_value):
    """Return the image with pixel (x, y) from ((a₀x + a₁y + a₂)/k, (b₀x + b₁y + b₂)/k), k = c₀x + c₁y + 1."""
    y, x = _grid(*shape(images)[1:3])
    a0, a1, a2, b0, b1, b2, c0, c1 = [t[:, None, None] for t in tf.unstack(transforms, axis=1)]
    k = c0 * x + c1 * y + 1.0
    at_y, at_x = (b0 * x + b1 * y + b2) / k, (a0 * x + a1 * y + a2) / k
    return _at(images, at_y, at_x, ORDERS[interpolation], mode, fill_value)


def affine_transform(images, transform, interpolation="bilinear", fill_mode="constant", fill_value=0, data_format=None):
    one_of("interpolation", interpolation, ORDERS)
    one_of("fill_mode", fill_mode, FILL_MODES)
    images, transform = convert_to_tensor(images), convert_to_tensor(transform, "float32")
    check_rank(images)
    if transform.ndim not in (1, 2):
        raise ValueError(
            "Invalid transform rank: expected rank 1 (single transform) or rank 2 (batch of transforms). "
            f"Received input with shape: transform.shape={transform.shape}"
        )
    if transform.ndim == 1:
        transform = transform[None]
    return batched(lambda x: _projected(x, transform, interpolation, fill_mode, fill_value), images, data_format)


def perspective_transform(images, start_points, end_points, interpolation="bilinear", fill_value=0, data_format=None):
    one_of("interpolation", interpolation, ORDERS)
    images = convert_to_tensor(images)
    check_rank(images)
    start_points, end_points = [convert_to_tensor(p, "float32") for p in (start_points, end_points)]
    for name, points in (("start_points", start_points), ("end_points", end_points)):
        if points.ndim not in (2, 3) or points.shape[-2:] != (4, 2):
            raise ValueError(
                f"Invalid {name} shape: expected (4,2) for a single image or (N,4,2) for a batch. Received shape: {points.shape}"
            )
    if start_points.shape != end_points.shape:
        raise ValueError(
            "start_points and end_points must have the same shape. "
            f"Received start_points.shape={start_points.shape}, end_points.shape={end_points.shape}"
        )
    transforms = tf.reshape(compute_homography_matrix(start_points, end_points), [-1, 8])
    return batched(lambda x: _projected(x, transforms, interpolation, "constant", fill_value), images, data_format)


def compute_homography_matrix(start_points, end_points):
    start, end = convert_to_tensor(start_points), convert_to_tensor(end_points)
    if start.ndim == 2:
        start, end = start[None], end[None]
    # k·start = (a·end, b·end), k = c·end + 1: two equations for each of the four points
    u, v = start[..., 0:1], start[..., 1:2]
    point = tf.concat([end, tf.ones_like(u)], -1)
    nothing = tf.zeros_like(point)
    rows = [tf.concat([point, nothing, -u * end], -1), tf.concat([nothing, point, -v * end], -1)]
    solution = tf.linalg.solve(tf.concat(rows, 1), tf.concat([u, v], 1))
    return tf.squeeze(solution, -1)


def elastic_transform(
    images,
    alpha=20.0,
    sigma=5.0,
    interpolation="bilinear",
    fill_mode="reflect",
    fill_value=0.0,
    seed=None,
    data_format=None,
):
    one_of("interpolation", interpolation, ORDERS)
    one_of("fill_mode", fill_mode, FILL_MODES)
    images = convert_to_tensor(images)
    dtype = images.dtype if images.dtype.is_floating else tf.float32
    size = 6 * int(sigma) | 1  # the extent of the blur is part of the program
    seed = draw_seed(seed)

    def moved(x):
        extents = tuple(x.shape[:3])
        noise = sigma * tf.random.stateless_normal(extents, seed, dtype=dtype)
        blurred = gaussian_blur(noise[..., None], (size, size), (sigma, sigma), "channels_last")[..., 0]
        # Keras on TensorFlow draws the shifts of both axes with one seed, so they are equal
        at_y, at_x = [at + alpha * blurred for at in _grid(extents[1], extents[2], dtype.name)]
        return _at(x, at_y, at_x, ORDERS[interpolation], fill_mode, fill_value)

    return batched(moved, images, standardize_data_format(data_format))
