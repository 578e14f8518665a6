"""Fractional pooling: side by side lie windows of two extents, in random order, so that the reduction need not be an integer.

Graham, "Fractional Max-Pooling" (2014, https://arxiv.org/abs/1412.6071). A seed determines the windows, which are TensorFlow's:
they follow from the words of one stream of Philox, first those of the rows, then those of the columns.
"""

import functools
import math
import random
from typing import Any, NamedTuple

import numpy as np

from gradtape._src.core.base.errors import UnimplementedError, invalid
from gradtape._src.core.base.public import public
from gradtape._src.core.engine import tiers
from gradtape._src.core.tensors.convert import tensor
from gradtape._src.core.tensors.tensor import Tensor, extents_of
from gradtape._src.ops.array.cast import cast
from gradtape._src.ops.array.gather import gather
from gradtape._src.ops.array.joining import concat
from gradtape._src.ops.array.select import where
from gradtape._src.ops.array.shape import expand_dims, reshape, transpose
from gradtape._src.ops.array.sort import argmax
from gradtape._src.ops.math.arithmetic import divide, minimum
from gradtape._src.ops.math.compare import less_equal, logical_and
from gradtape._src.ops.math.cumulative import cumsum
from gradtape._src.ops.math.reduction import reduce_sum
from gradtape._src.ops.math.rounding import ceil, truncatediv
from gradtape._src.ops.random import philox, seeds
from gradtape._src.ops.random.draws import shuffle, uniform
from gradtape._src.ops.shapes import require

POOLED = ("int32", "int64", "float32", "float64")


class FractionalMaxPool(NamedTuple):
    """The maxima, and the borders of their windows along the rows and columns, int64."""

    output: Tensor
    row_pooling_sequence: Tensor
    col_pooling_sequence: Tensor


class FractionalAvgPool(NamedTuple):
    """The means, and the borders of their windows along the rows and columns, int64."""

    output: Tensor
    row_pooling_sequence: Tensor
    col_pooling_sequence: Tensor


@functools.cache
def _unseeded() -> int:
    """Return the seed of the ops without one, another in each process, so that they take none of the global seed's numbers."""
    return random.SystemRandom().randrange(1, 2**31)


class _Words:
    """The words of the stream of a seed, in order. Each axis begins with a new block of four."""

    def __init__(self, seed):
        key, own = seeds.pair(seeds.global_seed(), seed)
        self.state, self.place = np.array([0, own, key], np.int64), 0

    def take(self, count):
        begin, self.place = self.place, self.place + -(-count // 4) * 4
        return [int(word) for word in philox.words_on_host(self.state, begin, count)]

    def fraction(self):
        """Return a number in [0, 1), of which the first word has the upper 20 bits."""
        upper, lower = self.take(2)
        return tensor(((upper & 0xFFFFF) << 32 | lower) / 2**52, "float64")

    def shuffled(self, sizes):
        words = self.take(len(sizes))
        for place in range(len(sizes) - 1):
            other = place + words[place] % (len(sizes) - place)
            sizes[place], sizes[other] = sizes[other], sizes[place]
        return tensor(sizes, "int64")


class _Draws:
    """As `_Words`, without a seed: other numbers in each run of a function, too."""

    def fraction(self):
        return uniform([], dtype="float64", seed=_unseeded())

    def shuffled(self, sizes):
        return shuffle(tensor(sizes, "int64"), seed=_unseeded())


def _borders(extent, count, pseudo_random, numbers):
    """Return the `count` + 1 borders of the windows along an axis of `extent` cells, int64."""
    least, longer = divmod(extent, count)
    if not pseudo_random:
        sizes = numbers.shuffled([least + 1] * longer + [least] * (count - longer))
        return concat([tensor([0], "int64"), cumsum(sizes)], 0)
    ratio = extent / count
    bound = min((least + 2) / ratio - 1, (extent + 1 - least) / ratio - (count - 1))
    inner = ceil((numbers.fraction() * bound + np.arange(1.0, count)) * ratio)
    return concat([tensor([0], "int64"), cast(inner, "int64") - 1, tensor([extent], "int64")], 0)


def _cells(borders, extent, count, overlapping):
    """Return the cells of each window along an axis, the last one repeated up to the widest window, and which are its own."""
    begin, end = borders[:-1], minimum(borders[1:] - (0 if overlapping else 1), extent - 1)
    places = expand_dims(begin, 1) + np.arange(extent // count + 1 + overlapping)
    return minimum(places, expand_dims(end, 1)), less_equal(places, expand_dims(end, 1))


def _planes(combine, rows, columns):
    """Combine what is known of windows along the rows, [a, m], and columns, [b, n]: [a · b, m · n]."""
    whole = combine(expand_dims(expand_dims(rows, 1), 3), expand_dims(expand_dims(columns, 0), 2))
    a, b, m, n = extents_of(whole)
    return reshape(whole, [a * b, m * n])


def _windows(value, ratio, pseudo_random, overlapping, seed, what):
    """Return the cells of all windows, [batch, windows, cells, channels], which of them count, and a function of an output.

    It returns the fields of the result.
    """
    require(value.node.aval, POOLED)
    if len(ratio) != 4:
        raise invalid(f"Length for attr 'pooling_ratio' of {len(ratio)} must be at least minimum 4")
    if min(ratio) < 1:
        raise invalid(f"pooling_ratio cannot be smaller than 1, got: {min(ratio):g}")
    if ratio[0] != 1 or ratio[3] != 1:
        raise UnimplementedError(
            None, None, f"Fractional {what} pooling is not yet supported on the batch nor channel dimension: received {ratio}."
        )
    if value.ndim != 4:
        raise invalid(f"tensor_in must be 4-dimensional: received {value.shape}. Use tf.expand_dims for a missing axis.")
    batch, height, width, channels = extents_of(value)
    counts = [math.floor(extent / float(np.float32(by))) for extent, by in ((height, ratio[1]), (width, ratio[2]))]
    if min(counts) < 1:
        axis = 1 + counts.index(0)
        raise invalid(
            f"Pooling ratio is higher than input dimension size for dimension {axis}. "
            f"Input dim size: {(height, width)[axis - 1]} pooling ratio: {ratio[axis]:g}"
        )
    numbers: Any = _Words(seed) if seed else _Draws()
    borders = [_borders(extent, count, pseudo_random, numbers) for extent, count in zip((height, width), counts, strict=True)]
    rows, columns = [
        _cells(border, extent, count, bool(overlapping))
        for border, extent, count in zip(borders, (height, width), counts, strict=True)
    ]
    cells = _planes(lambda row, column: row * width + column, rows[0], columns[0])
    found = gather(reshape(value, [batch, height * width, channels]), cells, axis=1)
    own = _planes(logical_and, rows[1], columns[1])
    return found, own, lambda output: (reshape(output, [batch, *counts, channels]), *borders)


def _checked_ratio(pooling_ratio):
    numbers = pooling_ratio if isinstance(pooling_ratio, (list, tuple)) else [pooling_ratio]
    if not all(isinstance(number, (int, float)) for number in numbers):
        raise ValueError(f"`pooling_ratio` should be an int or a list of ints. Received: pooling_ratio={pooling_ratio}")
    if numbers is pooling_ratio and (numbers[0] != 1.0 or numbers[-1] != 1.0):
        raise ValueError(
            f"`pooling_ratio` should have first and last elements with value 1.0. Received: pooling_ratio={pooling_ratio}"
        )
    if min(numbers) < 1.0:
        many = "`pooling_ratio` elements" if numbers is pooling_ratio else "`pooling_ratio`"
        raise ValueError(f"{many} should be >= 1.0. Received: pooling_ratio={pooling_ratio}")
    if len(numbers) not in (1, 2, 4):
        raise ValueError(
            f"pooling_ratio should be of length 1, 2 or 4. Received: pooling_ratio={pooling_ratio} of length {len(numbers)}"
        )
    return list(numbers) if len(numbers) == 4 else [1.0, numbers[0], numbers[-1], 1.0]


@public
def fractional_max_pool(value, pooling_ratio, pseudo_random=False, overlapping=False, seed=0, name=None):
    """Return the maxima of windows of varying extent, and the windows' borders along rows and columns (int64).

    `value` is [batch, height, width, channels] of float32, float64, int32 or int64. floor(extent / ratio) rows and columns are
    left; `pooling_ratio` is a number from 1 on, or [1, rows, columns, 1]. `pseudo_random` makes windows of both extents
    alternate evenly, `overlapping` adds the next window's first cell to each. A `seed` determines the windows, 0 does not. The
    gradient goes to the first of equal maxima. ValueError for other ratios.

    >>> y, rows, _ = tf.nn.fractional_max_pool(tf.ones([1, 7, 7, 1]), 1.5, seed=1)
    >>> print(y.shape, rows.numpy()[-1])
    (1, 4, 4, 1) 7
    """
    ratio = _checked_ratio(pooling_ratio)
    if seed == 0 and tiers.deterministic:
        raise ValueError(
            "tf.nn.fractional_max_pool requires a non-zero seed to be passed in when determinism is enabled, but got "
            f'seed={seed}. Please pass in a non-zero seed, e.g. by passing "seed=1".'
        )
    found, _, pooled = _windows(tensor(value), ratio, pseudo_random, overlapping, seed, "max")
    found = transpose(found, [0, 1, 3, 2])
    return FractionalMaxPool(*pooled(gather(found, argmax(found, 3), axis=3, batch_dims=3)))


@public
def fractional_avg_pool(value, pooling_ratio, pseudo_random=False, overlapping=False, seed=0, name=None):
    """Return the means of windows of varying extent, with the windows and other arguments of `fractional_max_pool`.

    `pooling_ratio` is [1, rows, columns, 1]. Integers are divided as integers, towards 0.

    >>> y, _, columns = tf.nn.fractional_avg_pool(tf.ones([1, 7, 7, 1]), [1.0, 1.5, 1.5, 1.0], seed=1)
    >>> print(y.shape, columns.numpy()[-1])
    (1, 4, 4, 1) 7
    """
    if not isinstance(pooling_ratio, (list, tuple)):
        raise TypeError(f"Expected list for 'pooling_ratio' argument to 'fractional_avg_pool' Op, not {pooling_ratio!r}.")
    value = tensor(value)
    found, own, pooled = _windows(value, list(pooling_ratio), pseudo_random, overlapping, seed, "average")
    own = expand_dims(own, 2)
    total, count = reduce_sum(where(own, found, 0), 2), reduce_sum(cast(own, value.dtype), 1)
    return FractionalAvgPool(*pooled((divide if value.dtype.is_floating else truncatediv)(total, count)))
