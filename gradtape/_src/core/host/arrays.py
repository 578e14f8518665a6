"""The part of `jax.numpy` and `jax.lax` that kernels use, implemented on NumPy arrays with equal arguments, dtypes and values.

Only names used by hosted ops exist. Any other is an AttributeError, which the tests of hosted ops find.
"""

from __future__ import annotations

import itertools
import math
import operator
from collections.abc import Sequence
from functools import partial
from typing import Any

import jax
import jax.numpy
import numpy as np
from jax import lax

from gradtape._src.core.host import indexing
from gradtape._src.core.host.convolution import convolution
from gradtape._src.core.host.linalg import Numbers as LinearAlgebra, Primitives as Factorizations
from gradtape._src.core.host.products import einsum, product

Array = Any
_added: Any = np.add.reduce  # `np.sum` takes three times as long to call


def _special(name: str, x: Array) -> Array:
    """Return SciPy's special function of `x`; SciPy is imported on first use."""
    from scipy import special

    return getattr(special, name)(x.astype(np.float32) if x.dtype.itemsize == 2 else x)


class Numbers:
    """`jax.numpy` on NumPy arrays."""

    # dtypes and their properties
    bool_, int8, int16, int32, int64 = np.bool_, np.int8, np.int16, np.int32, np.int64
    uint8, uint16, uint32, uint64 = np.uint8, np.uint16, np.uint32, np.uint64
    float16, float32, float64 = np.float16, np.float32, np.float64
    bfloat16 = jax.numpy.bfloat16
    floating, inexact, integer, signedinteger, complexfloating = (
        jax.numpy.floating, jax.numpy.inexact, jax.numpy.integer, jax.numpy.signedinteger, jax.numpy.complexfloating,
    )  # fmt: skip
    dtype, finfo, iinfo, issubdtype = jax.numpy.dtype, jax.numpy.finfo, jax.numpy.iinfo, jax.numpy.issubdtype
    inf, nan = np.inf, np.nan
    linalg = LinearAlgebra
    # element-wise
    abs, conj, real, imag, angle, sign = np.abs, np.conj, np.real, np.imag, np.angle, np.sign
    exp, expm1, log, log1p, log2, sqrt = np.exp, np.expm1, np.log, np.log1p, np.log2, np.sqrt
    sin, cos, tan, arcsin, arccos, arctan = np.sin, np.cos, np.tan, np.arcsin, np.arccos, np.arctan
    sinh, cosh, tanh, arcsinh, arccosh, arctanh = np.sinh, np.cosh, np.tanh, np.arcsinh, np.arccosh, np.arctanh
    floor, ceil, trunc, rint, round = np.floor, np.ceil, np.trunc, np.rint, np.round
    maximum, minimum, power, clip = np.maximum, np.minimum, np.power, np.clip
    mod, remainder, floor_divide, gcd = np.mod, np.remainder, np.floor_divide, np.gcd
    arctan2, logaddexp, nextafter = np.arctan2, np.logaddexp, np.nextafter
    left_shift, right_shift, searchsorted = np.left_shift, np.right_shift, np.searchsorted
    isfinite, isinf, isnan, where = np.isfinite, np.isinf, np.isnan, np.where
    greater, greater_equal = np.greater, np.greater_equal
    # creation
    array, asarray, arange, eye = np.array, np.asarray, np.arange, np.eye
    zeros, ones, full, zeros_like, ones_like, full_like = np.zeros, np.ones, np.full, np.zeros_like, np.ones_like, np.full_like
    # shapes and movement
    broadcast_to, broadcast_arrays, broadcast_shapes = np.broadcast_to, np.broadcast_arrays, np.broadcast_shapes
    reshape, transpose, swapaxes, moveaxis, expand_dims = np.reshape, np.transpose, np.swapaxes, np.moveaxis, np.expand_dims
    concatenate, stack, tile, repeat, flip, pad = np.concatenate, np.stack, np.tile, np.repeat, np.flip, np.pad
    diagonal, tril, cross = np.diagonal, np.tril, np.cross
    # reductions
    max, min, any, all, argmax, argsort, sort, prod = np.max, np.min, np.any, np.all, np.argmax, np.argsort, np.sort, np.prod

    @staticmethod
    def take_along_axis(x: Array, indices: Array, axis: int, mode: str = "fill") -> Array:
        """Return the elements at indices along an axis, with JAX's rule for indices out of range."""
        if mode == "clip":
            indices = np.clip(indices, 0, x.shape[axis] - 1)
        elif mode == "fill" and ((indices < -x.shape[axis]) | (indices >= x.shape[axis])).any():
            raise NotImplementedError("an index out of range")
        return np.take_along_axis(x, indices, axis)

    @staticmethod
    def sum(x: Array, axis: Any = None, dtype: Any = None, keepdims: bool = False) -> Array:
        """Return sums; those of half precision are computed in float32, as in XLA."""
        axis = tuple(axis) if isinstance(axis, list) else axis
        if dtype is None and x.dtype.itemsize == 2 and x.dtype.kind not in "iu":
            return _added(x.astype(np.float32), axis=axis, keepdims=keepdims).astype(x.dtype)
        return _added(x, axis=axis, dtype=dtype, keepdims=keepdims)

    @staticmethod
    def take(x: Array, indices: Array, axis: int, mode: str = "clip") -> Array:
        """Return the entries of an axis at indices, which are clipped to the axis."""
        return np.take(x, indices, axis, mode="clip" if mode == "clip" else "raise")

    @staticmethod
    def matmul(x: Array, y: Array, precision: Any = None, preferred_element_type: Any = None) -> Array:
        """Return matrix products with broadcast batch axes."""
        return product(x, y)

    @staticmethod
    def einsum(subscripts: str, *operands: Array, **options: Any) -> Array:
        """Return a sum of products."""
        dtype = operands[0].dtype
        if dtype.itemsize == 2:
            operands = tuple([x.astype(np.float32) for x in operands])
        return einsum(subscripts, operands).astype(dtype, copy=False)

    @staticmethod
    def cumsum(x: Array, axis: int | None = None, dtype: Any = None) -> Array:
        """Return cumulative sums; those of bools are counts."""
        return np.cumsum(x, axis, dtype=x.dtype if dtype is None and x.dtype.kind != "b" else dtype)

    @staticmethod
    def split(x: Array, where: Any, axis: int = 0) -> list[Array]:
        """Return the parts of `x`: a number of equal parts, or parts cut at these positions."""
        extent = x.shape[axis]
        places = [extent // where * i for i in range(where + 1)] if isinstance(where, int) else [0, *where, extent]
        before = (slice(None),) * (axis % x.ndim)
        return [x[(*before, slice(start, stop))] for start, stop in itertools.pairwise(places)]


class Primitives:
    """`jax.lax` on NumPy arrays."""

    linalg = Factorizations
    Precision, GatherScatterMode = lax.Precision, lax.GatherScatterMode
    GatherDimensionNumbers, ScatterDimensionNumbers = lax.GatherDimensionNumbers, lax.ScatterDimensionNumbers
    conv_general_dilated, conv_dimension_numbers = staticmethod(convolution), staticmethod(lax.conv_dimension_numbers)
    gather = staticmethod(indexing.gather)
    scatter, scatter_add = staticmethod(indexing.scatter(None)), staticmethod(indexing.scatter(np.add))
    scatter_sub, scatter_mul = staticmethod(indexing.scatter(np.subtract)), staticmethod(indexing.scatter(np.multiply))
    scatter_min, scatter_max = staticmethod(indexing.scatter(np.minimum)), staticmethod(indexing.scatter(np.maximum))
    max, add, square, pow, integer_pow, rem = np.maximum, np.add, np.square, np.power, operator.pow, np.fmod
    erf, erfc, erf_inv = partial(_special, "erf"), partial(_special, "erfc"), partial(_special, "erfinv")
    reshape, expand_dims, rev, concatenate = np.reshape, np.expand_dims, np.flip, np.concatenate

    @staticmethod
    def sort(operand: Any, dimension: int = -1, is_stable: bool = True, num_keys: int = 1) -> Any:
        """Return an array sorted along an axis, or several sorted by the first of them."""
        if not isinstance(operand, tuple):
            return np.sort(operand, dimension)
        order = np.argsort(operand[0], dimension, kind="stable")
        return tuple([np.take_along_axis(x, order, dimension) for x in operand])

    @staticmethod
    def argmax(x: Array, axis: int, index_dtype: Any) -> Array:
        """Return the index of the first maximum, or of the first NaN."""
        return np.argmax(x, axis).astype(index_dtype)

    @staticmethod
    def argmin(x: Array, axis: int, index_dtype: Any) -> Array:
        """Return the index of the first minimum, or of the first NaN."""
        return np.argmin(x, axis).astype(index_dtype)

    @staticmethod
    def top_k(x: Array, k: int) -> tuple[Array, Array]:
        """Return the `k` largest entries of the last axis, and their indices; of equal ones the first."""
        order = x.shape[-1] - 1 - np.argsort(x[..., ::-1], -1, kind="stable")[..., ::-1][..., :k]
        return np.take_along_axis(x, order, -1), order.astype(np.int32)

    @staticmethod
    def scan(step: Any, carried: Any, xs: Any = None, length: int | None = None, reverse: bool = False) -> tuple[Any, Any]:
        """Loop over rows of arrays; return the last carry and the stacked results."""
        leaves = jax.tree.leaves(xs)
        count = len(leaves[0]) if leaves else length or 0
        rows = []
        for i in reversed(range(count)) if reverse else range(count):
            carried, row = step(carried, jax.tree.map(lambda x, i=i: x[i], xs))
            rows.append(row)
        if reverse:
            rows.reverse()
        return carried, jax.tree.map(lambda *parts: np.stack(parts), *rows)

    @staticmethod
    def reduce_window(
        x: Any,
        start: Any,
        reduction: Any,
        window: Sequence[int],
        strides: Sequence[int],
        padding: Any,
        window_dilation: Any = None,
    ) -> Any:
        """Return windows of an array, reduced by a ufunc. For a tuple of arrays, the reduction is a function of two tuples."""
        spread = window_dilation or (1,) * len(window)
        if isinstance(x, tuple):
            return _windows_of_several(x, start, reduction, window, strides, padding, spread)
        reach = [(k - 1) * d + 1 for k, d in zip(window, spread, strict=True)]
        x = Primitives.pad(x, start, [(low, high, 0) for low, high in padding])
        if any(extent < r for extent, r in zip(x.shape, reach, strict=True)):
            return np.zeros([max((n - r) // s + 1, 0) for n, r, s in zip(x.shape, reach, strides, strict=True)], x.dtype)
        windows = np.lib.stride_tricks.sliding_window_view(x, reach)
        windows = windows[(*[slice(None, None, s) for s in strides], *[slice(None, None, d) for d in spread])]
        return reduction.reduce(windows, tuple(range(x.ndim, 2 * x.ndim)))

    @staticmethod
    def dynamic_slice_in_dim(x: Array, start: Array, size: int, axis: int = 0) -> Array:
        """Return a window along one axis, shifted to lie within `x`."""
        first = min(max(int(start), 0), x.shape[axis] - size)
        return x[(slice(None),) * axis + (slice(first, first + size),)]

    @staticmethod
    def lgamma(x: Array) -> Array:
        """Return the logarithm of the gamma function, ∞ at -∞, where SciPy has -∞."""
        return np.where(np.isinf(x), np.abs(x), _special("gammaln", x))

    @staticmethod
    def digamma(x: Array) -> Array:
        """Return the digamma function, NaN at all poles, where SciPy has ∞ at some."""
        return np.where((x <= 0) & (x == np.floor(x)), np.asarray(np.nan, x.dtype), _special("digamma", x))

    @staticmethod
    def fori_loop(lower: int, upper: int, body: Any, value: Any) -> Any:
        """Run a loop with a counter."""
        for i in range(int(lower), int(upper)):
            value = body(np.int32(i), value)
        return value

    @staticmethod
    def while_loop(condition: Any, body: Any, value: Any) -> Any:
        """Run a loop until its condition fails."""
        while condition(value):
            value = body(value)
        return value

    @staticmethod
    def cumlogsumexp(x: Array, axis: int = 0, reverse: bool = False) -> Array:
        """Return cumulative log-sum-exp."""
        flipped = np.flip(x, axis) if reverse else x
        found = np.logaddexp.accumulate(flipped, axis, dtype=x.dtype)
        return np.flip(found, axis) if reverse else found

    @staticmethod
    def reduce_max(x: Array, axes: Sequence[int]) -> Array:
        """Return maxima."""
        return np.max(x, tuple(axes), initial=_extreme(x.dtype, -1))

    @staticmethod
    def reduce_min(x: Array, axes: Sequence[int]) -> Array:
        """Return minima."""
        return np.min(x, tuple(axes), initial=_extreme(x.dtype, 1))

    @staticmethod
    def full_like(x: Array, value: Any, dtype: Any = None, shape: Any = None) -> Array:
        """Return an array filled with a value."""
        return np.full(x.shape if shape is None else shape, value, x.dtype if dtype is None else dtype)

    @staticmethod
    def complex(x: Array, y: Array) -> Array:
        """Return complex numbers from real and imaginary parts."""
        result = np.empty(np.broadcast_shapes(np.shape(x), np.shape(y)), np.result_type(x.dtype, np.complex64))
        result.real, result.imag = x, y
        return result

    @staticmethod
    def bitcast_convert_type(x: Array, dtype: Any) -> Array:
        """Return the bits of `x` as another dtype, which may split or join elements."""
        old, new = np.dtype(x.dtype).itemsize, np.dtype(dtype).itemsize
        x = np.array(x, order="C")
        if old > new:
            return x.reshape(*np.shape(x), 1).view(dtype)
        return x.view(dtype).reshape(np.shape(x) if old == new else np.shape(x)[:-1])

    @staticmethod
    def rsqrt(x: Array) -> Array:
        """Return 1 / √x."""
        return (1 / np.sqrt(x)).astype(x.dtype)

    @staticmethod
    def div(x: Array, y: Array) -> Array:
        """Return quotients; those of integers are truncated."""
        if x.dtype.kind not in "iu":
            return np.divide(x, y)
        quotient = np.floor_divide(x, y)
        return quotient + ((np.remainder(x, y) != 0) & ((x < 0) != (y < 0))).astype(x.dtype)

    @staticmethod
    def logistic(x: Array) -> Array:
        """Return 1 / (1 + exp(-x))."""
        return (1 / (1 + np.exp(-x))).astype(x.dtype, copy=False)

    @staticmethod
    def optimization_barrier(x: Array) -> Array:
        """Return `x`."""
        return x

    @staticmethod
    def broadcast_in_dim(x: Array, shape: Sequence[int], dimensions: Sequence[int]) -> Array:
        """Return `x` broadcast to `shape`, with its axes at `dimensions`."""
        view = [1] * len(shape)
        for axis, extent in zip(dimensions, np.shape(x), strict=True):
            view[axis] = extent
        return np.broadcast_to(np.reshape(x, view), shape)

    @staticmethod
    def broadcasted_iota(dtype: Any, shape: Sequence[int], dimension: int) -> Array:
        """Return the indices along one axis."""
        view = [1] * len(shape)
        view[dimension] = shape[dimension]
        return np.broadcast_to(np.arange(shape[dimension], dtype=dtype).reshape(view), shape)

    @staticmethod
    def iota(dtype: Any, size: int) -> Array:
        """Return the numbers below `size`."""
        return np.arange(size, dtype=dtype)

    @staticmethod
    def split(x: Array, sizes: Sequence[int], axis: int = 0) -> tuple[Array, ...]:
        """Return the parts of `x` of these sizes."""
        return tuple(np.split(x, np.cumsum(sizes)[:-1], axis))

    @staticmethod
    def slice(x: Array, start: Sequence[int], limit: Sequence[int], strides: Sequence[int] | None = None) -> Array:
        """Return a window of `x`."""
        steps = [1] * x.ndim if strides is None else strides
        return x[tuple([slice(*bounds) for bounds in zip(start, limit, steps, strict=True)])]

    @staticmethod
    def slice_in_dim(x: Array, start: int, limit: int, stride: int = 1, axis: int = 0) -> Array:
        """Return a window of `x` along one axis."""
        return x[(slice(None),) * axis + (slice(start, limit, stride),)]

    @staticmethod
    def index_in_dim(x: Array, index: int, axis: int = 0, keepdims: bool = True) -> Array:
        """Return one element of an axis."""
        return np.take(x, [index] if keepdims else index, axis)

    @staticmethod
    def dynamic_slice(x: Array, starts: Sequence[Array], sizes: Sequence[int]) -> Array:
        """Return the window that begins at `starts`, shifted to lie within `x`."""
        return x[_window(x, starts, sizes)]

    @staticmethod
    def dynamic_update_slice(x: Array, update: Array, starts: Sequence[Array]) -> Array:
        """Return a copy of `x` with a window replaced."""
        result = np.array(x)
        result[_window(x, starts, update.shape)] = update
        return result

    @staticmethod
    def dynamic_update_index_in_dim(x: Array, update: Array, index: Array, axis: int) -> Array:
        """Return a copy of `x` with the entry at an index of an axis replaced."""
        result = np.array(x)
        at = (slice(None),) * axis + (min(max(int(index), 0), x.shape[axis] - 1),)
        result[at] = np.reshape(update, result[at].shape)
        return result

    @staticmethod
    def dynamic_index_in_dim(x: Array, index: Array, axis: int = 0, keepdims: bool = True) -> Array:
        """Return the entry at an index of an axis."""
        at = min(max(int(index), 0), x.shape[axis] - 1)
        return np.take(x, [at] if keepdims else at, axis)

    @staticmethod
    def pad(x: Array, value: Array, config: Sequence[tuple[int, int, int]]) -> Array:
        """Return `x` with `value` around it (cropped for negative edges) and between its elements."""
        shape = [
            low + high + extent + max(extent - 1, 0) * inner for extent, (low, high, inner) in zip(x.shape, config, strict=True)
        ]
        result = np.full(shape, value, x.dtype)
        into, out_of = [], []
        for extent, size, (low, _, inner) in zip(x.shape, shape, config, strict=True):
            step = inner + 1
            first = -(low // step) if low < 0 else 0
            count = max(min(extent, (size - low - 1) // step + 1) - first, 0)
            begin = low + first * step
            into.append(slice(begin, begin + count * step, step))
            out_of.append(slice(first, first + count))
        result[tuple(into)] = x[tuple(out_of)]
        return result

    @staticmethod
    def cumsum(x: Array, axis: int = 0, reverse: bool = False) -> Array:
        """Return cumulative sums."""
        return _cumulated(np.cumsum, x, axis, reverse)

    @staticmethod
    def cumprod(x: Array, axis: int = 0, reverse: bool = False) -> Array:
        """Return cumulative products."""
        return _cumulated(np.cumprod, x, axis, reverse)

    @staticmethod
    def dot_general(
        a: Array, b: Array, dimension_numbers: Any, precision: Any = None, preferred_element_type: Any = None
    ) -> Array:
        """Return a contraction over some axes, with batch axes."""
        (contracted_a, contracted_b), (batch_a, batch_b) = dimension_numbers
        dtype = a.dtype if preferred_element_type is None else np.dtype(preferred_element_type)
        if dtype.itemsize == 2 and dtype.kind not in "iu":
            a, b = a.astype(np.float32), b.astype(np.float32)
        if a.ndim == b.ndim == 2 and not batch_a and len(contracted_a) == 1:  # needs no transposition
            x, y = a.T if contracted_a[0] == 0 else a, b if contracted_b[0] == 0 else b.T
            return product(x, y).astype(dtype, copy=False)
        free_a = [i for i in range(a.ndim) if i not in contracted_a and i not in batch_a]
        free_b = [i for i in range(b.ndim) if i not in contracted_b and i not in batch_b]
        batch, inner = [a.shape[i] for i in batch_a], math.prod([a.shape[i] for i in contracted_a])
        rows, columns = [a.shape[i] for i in free_a], [b.shape[i] for i in free_b]
        x = np.transpose(a, [*batch_a, *free_a, *contracted_a]).reshape(*batch, math.prod(rows), inner)
        y = np.transpose(b, [*batch_b, *contracted_b, *free_b]).reshape(*batch, inner, math.prod(columns))
        return product(x, y).astype(dtype, copy=False).reshape(*batch, *rows, *columns)


def _extreme(dtype: np.dtype, sign: int) -> Any:
    """Return the largest or smallest value of a dtype, the extremum of no elements."""
    if jax.numpy.issubdtype(dtype, jax.numpy.inexact):
        return np.asarray(sign * np.inf, dtype)
    limits = np.iinfo(dtype) if dtype.kind in "iu" else None
    return sign > 0 if limits is None else limits.max if sign > 0 else limits.min


def _window(x: Array, starts: Sequence[Array], sizes: Sequence[int]) -> tuple[slice, ...]:
    first = [min(max(int(s), 0), extent - size) for s, size, extent in zip(starts, sizes, x.shape, strict=True)]
    return tuple([slice(s, s + size) for s, size in zip(first, sizes, strict=True)])


def _cumulated(function: Any, x: Array, axis: int, reverse: bool) -> Array:
    return np.flip(function(np.flip(x, axis), axis, dtype=x.dtype), axis) if reverse else function(x, axis, dtype=x.dtype)


def _windows_of_several(
    arrays: tuple[Array, ...], starts: Any, reduction: Any, window: Any, strides: Any, padding: Any, spread: Any
) -> tuple[Array, ...]:
    config = [(low, high, 0) for low, high in padding]
    arrays = tuple([Primitives.pad(x, start, config) for x, start in zip(arrays, starts, strict=True)])
    geometry = list(zip(arrays[0].shape, window, strides, spread, strict=True))
    counts = [max((n - (k - 1) * d - 1) // s + 1, 0) for n, k, s, d in geometry]
    result = tuple([np.full(counts, start, x.dtype) for x, start in zip(arrays, starts, strict=True)])
    for cell in np.ndindex(*window):
        view = tuple(
            [
                slice(c * d, c * d + (n - 1) * s + 1 if n else 0, s)
                for c, d, n, s in zip(cell, spread, counts, strides, strict=True)
            ]
        )
        result = reduction(result, tuple([x[view] for x in arrays]))
    return result
