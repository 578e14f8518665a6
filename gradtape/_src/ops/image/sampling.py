"""The weights of old pixels in each new pixel of a resized line, computed on the host; for unknown extents, by the program.

They depend on extents only, so a kernel uses them as constants. All is computed in float32, step by step as in TensorFlow: a
position on the other side of a boundary would be another pixel.
"""

import functools
from typing import NamedTuple

import numpy as np

from gradtape._src.core.platform import xla
from gradtape._src.core.platform.arrays import jnp

SINGLE = np.float32
TINY = 1000 * np.finfo(SINGLE).tiny
TABLE = 1024  # TensorFlow rounds the distances of bicubic weights to multiples of 1/1024
KEYS, LEGACY_KEYS = -0.5, -0.75


class Grid(NamedTuple):
    """The positions of the new pixels on the old line. TensorFlow 2's is the default.

    `align_corners` puts the first and the last pixel on the old ones. With `half_pixel_centers` positions refer to the centres
    of pixels, else to their left edges.
    """

    align_corners: bool = False
    half_pixel_centers: bool = True

    def step(self, size, new):
        """Return the width of a new pixel in units of old pixels."""
        if self.align_corners and new > 1:
            return _single(size - 1) / _single(new - 1)
        return _single(size) / _single(new)

    def centres(self, size, new):
        """Return the centres of the new pixels, in old pixels from the start of the line."""
        first = SINGLE(0.5) if self.half_pixel_centers else SINGLE(0)
        return (_numbers(new) + first) * self.step(size, new)

    def places(self, size, new):
        """Return the positions of the new pixels in indices of old pixels."""
        return self.centres(size, new) - (SINGLE(0.5) if self.half_pixel_centers else SINGLE(0))


class Taps(NamedTuple):
    """New pixel i is the sum over j of `weights[i, j]` times old pixel `indices[i, j]`; int32 and float32."""

    indices: np.ndarray
    weights: np.ndarray

    def matrix(self, size):
        """Return the Taps as a matrix, [new pixels, `size` old pixels]."""
        matrix = np.zeros((len(self.indices), size), SINGLE)
        rows = np.arange(len(matrix))[:, None]
        np.add.at(matrix, (rows, self.indices), self.weights)
        return matrix


CENTRED = Grid()


def taps(method, size, new, grid=CENTRED):
    """Return the Taps from `size` pixels to `new`. `method` is a key of `METHODS`, or (kernel of `FILTERS`, antialias)."""
    known = xla.is_number(size) and xla.is_number(new)
    return (_taps if known else _taps.__wrapped__)(method, size, new, grid)  # no cache for symbols of an exported program


@functools.lru_cache(maxsize=256)
def _taps(method, size, new, grid):
    if isinstance(method, str):
        found = METHODS[method](size, new, grid)
    else:
        kernel, antialias = method
        found = _filtered(kernel, antialias, size, new)
    return Taps(found.indices.clip(0, size - 1).astype(np.int32), found.weights)


@functools.lru_cache(maxsize=256)
def transposed(method, size, new, grid=CENTRED):
    """Return the Taps of the transpose, from `new` pixels to `size`, which a gradient uses."""
    matrix = taps(method, size, new, grid).matrix(size).T
    used = matrix != 0
    first = used.argmax(1)
    last = np.where(used.any(1), new - used[:, ::-1].argmax(1), first)
    indices = first[:, None] + np.arange(max(1, (last - first).max()))
    inside = indices < new
    indices = indices.clip(0, new - 1).astype(np.int32)
    return Taps(indices, np.where(inside, np.take_along_axis(matrix, indices, 1), SINGLE(0)))


def _numbers(count):
    return (np if xla.is_number(count) else jnp).arange(count, dtype=SINGLE)


def _single(extent):
    return SINGLE(extent) if xla.is_number(extent) else jnp.asarray(extent, SINGLE)


def _library(x):
    return np if isinstance(x, (np.ndarray, np.generic)) else jnp


def _floor(x):
    return _library(x).floor(x).astype(np.int64)  # host-side: a position on the line


def _ceil(x):
    return _library(x).ceil(x).astype(np.int64)  # host-side: a position on the line


def _normalized(weights):
    """Normalize weights to a sum of 1, unless they sum to 0."""
    total = weights.sum(1, dtype=SINGLE, keepdims=True)
    some = abs(total) >= TINY
    return np.where(some, weights * (SINGLE(1) / np.where(some, total, SINGLE(1))), SINGLE(0))


def _nearest(size, new, grid):
    place = grid.centres(size, new) + (SINGLE(0.5) if grid.align_corners else SINGLE(0))
    return Taps(_floor(place)[:, None], _library(place).ones((new, 1), SINGLE))


def _bilinear(size, new, grid):
    place = grid.places(size, new)
    part = place - _floor(place).astype(SINGLE)
    stack = _library(place).stack
    return Taps(stack([_floor(place), _ceil(place)], 1), stack([SINGLE(1) - part, part], 1))


def _bicubic(size, new, grid):
    keys = KEYS if grid.half_pixel_centers else LEGACY_KEYS
    distance = np.arange(TABLE + 1) / TABLE
    near = (((keys + 2) * distance - (keys + 3)) * distance * distance + 1).astype(SINGLE)
    distance = distance + 1
    far = (((keys * distance - 5 * keys) * distance + 8 * keys) * distance - 4 * keys).astype(SINGLE)
    place = grid.places(size, new)
    cell = _floor(place)
    step = ((place - cell.astype(SINGLE)) * SINGLE(TABLE)).round().astype(np.int64)
    indices = cell[:, None] + np.arange(-1, 3)
    weights = np.stack([far[step], near[step], near[TABLE - step], far[TABLE - step]], 1)
    if not grid.half_pixel_centers:  # beyond the end the last pixel is repeated
        return Taps(indices, weights)
    return Taps(indices, _normalized(np.where((indices >= 0) & (indices < size), weights, SINGLE(0))))


def _area(size, new, grid):
    scale = grid.step(size, new)
    low, high = _numbers(new) * scale, (_numbers(new) + SINGLE(1)) * scale
    first, end = _floor(low), _ceil(high)
    indices = first[:, None] + np.arange((end - first).max())
    overlap = (indices + 1.0).clip(None, high[:, None]) - (indices + 0.0).clip(low[:, None], None)
    return Taps(indices, overlap.clip(0, None).astype(SINGLE) / scale)


# ---------------------------------------------------------------------------------------------------------------------
# Filters: functions of the distance from the sampled position, which are 0 beyond a radius


def _lanczos(radius):
    def weigh(x):
        angle = SINGLE(np.pi) * x.clip(SINGLE(1e-3), None)
        weight = SINGLE(radius) * np.sin(angle) * np.sin(angle / SINGLE(radius)) / (angle * angle)  # host-side: weights
        return np.where(x <= SINGLE(1e-3), SINGLE(1), weight)

    return radius, weigh


def _gaussian(x):
    return np.exp(-x * x / SINGLE(0.5))  # host-side: weights


def _triangle(x):
    return SINGLE(1) - x


def _keys_cubic(x):
    outer = ((SINGLE(-0.5) * x + SINGLE(2.5)) * x - SINGLE(4)) * x + SINGLE(2)
    return np.where(x >= 1, outer, ((SINGLE(1.5) * x - SINGLE(2.5)) * x) * x + SINGLE(1))


def _mitchell(x):
    outer = ((SINGLE(-7 / 18) * x + SINGLE(2)) * x - SINGLE(10 / 3)) * x + SINGLE(16 / 9)
    return np.where(x >= 1, outer, ((SINGLE(7 / 6) * x - SINGLE(2)) * x) * x + SINGLE(8 / 9))


FILTERS = {
    "lanczos3": _lanczos(3),
    "lanczos5": _lanczos(5),
    "gaussian": (1.5, _gaussian),
    "triangle": (1, _triangle),
    "keyscubic": (2, _keys_cubic),
    "mitchellcubic": (2, _mitchell),
}


def _filtered(kernel, antialias, size, new):
    """Return the Taps of a filter centred at each new pixel. If `antialias`, downsampling widens it."""
    radius, weigh = FILTERS[kernel]
    step = SINGLE(1.0 / float(SINGLE(new) / SINGLE(size)))
    widening = max(step, SINGLE(1)) if antialias else SINGLE(1)
    reach = SINGLE(radius) * widening
    centre = (_numbers(new) + SINGLE(0.5)) * step
    first = _ceil(centre - reach - SINGLE(0.5)).clip(0, size - 1)
    end = _floor(centre + reach - SINGLE(0.5)).clip(0, size - 1) + 1
    indices = first[:, None] + np.arange((end - first).max())
    distance = abs((indices.astype(SINGLE) + SINGLE(0.5) - centre[:, None]) * (SINGLE(1) / widening))
    met = (indices < end[:, None]) & (distance < radius) & (centre <= size)[:, None]
    return Taps(indices, _normalized(np.where(met, weigh(distance.clip(None, SINGLE(radius))), SINGLE(0))))


METHODS = {"nearest": _nearest, "bilinear": _bilinear, "bicubic": _bicubic, "area": _area}
