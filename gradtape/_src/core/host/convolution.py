"""`lax.conv_general_dilated` on NumPy arrays: windows as the rows of a matrix, and one matrix product."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from jax import lax

from gradtape._src.core.host.products import product

Array = Any


def convolution(
    lhs: Array,
    rhs: Array,
    window_strides: Sequence[int],
    padding: Any,
    lhs_dilation: Sequence[int] | None = None,
    rhs_dilation: Sequence[int] | None = None,
    dimension_numbers: Any = None,
    feature_group_count: int = 1,
    batch_group_count: int = 1,
    precision: Any = None,
    preferred_element_type: Any = None,
) -> Array:
    """Return the convolution of a batch of images `lhs` with filters `rhs`."""
    layout = lax.conv_dimension_numbers(lhs.shape, rhs.shape, dimension_numbers)
    x, filters = np.transpose(lhs, layout.lhs_spec), np.transpose(rhs, layout.rhs_spec)  # [N, C, …], [O, C/groups, …]
    spatial = x.ndim - 2
    dtype = np.dtype(preferred_element_type or lhs.dtype)
    if dtype.itemsize == 2:
        x, filters = x.astype(np.float32), filters.astype(np.float32)
    holes = lhs_dilation or (1,) * spatial
    spread = rhs_dilation or (1,) * spatial
    reach = [(k - 1) * d + 1 for k, d in zip(filters.shape[2:], spread, strict=True)]
    if isinstance(padding, str):
        extents = [(n - 1) * h + 1 for n, h in zip(x.shape[2:], holes, strict=True)]
        padding = lax.padtype_to_pads(extents, reach, window_strides, padding)
    if max(holes) > 1 == max(window_strides) == batch_group_count:
        result = _between_holes(x, filters, padding, holes, spread, feature_group_count)
        return np.transpose(result, np.argsort(layout.out_spec)).astype(dtype, copy=False)
    x = _padded(x, padding, holes)
    if any(extent < window for extent, window in zip(x.shape[2:], reach, strict=True)):
        extents = [max((n - r) // s + 1, 0) for n, r, s in zip(x.shape[2:], reach, window_strides, strict=True)]
        empty = np.zeros((lhs.shape[layout.lhs_spec[0]] // batch_group_count, filters.shape[0], *extents), dtype)
        return np.transpose(empty, np.argsort(layout.out_spec))
    windows = np.lib.stride_tricks.sliding_window_view(x, reach, tuple(range(2, 2 + spatial)))
    steps = [slice(None, None, s) for s in window_strides]
    within = [slice(None, None, d) for d in spread]
    windows = windows[(slice(None), slice(None), *steps, *within)]  # [N, C, *places, *taps]
    result = _grouped(windows, filters, spatial, feature_group_count, batch_group_count)
    return np.transpose(result, np.argsort(layout.out_spec)).astype(dtype, copy=False)


def _between_holes(x: Array, filters: Array, padding: Any, holes: Sequence[int], spread: Sequence[int], groups: int) -> Array:
    """Return `[N, O, *places]` for dilated images, without multiplying the zeros between their elements.

    Each element is multiplied by all filter taps; the products are added to the output places whose window holds the element.
    """
    images, _, *extents = x.shape
    outputs, inner, *taps = filters.shape
    rows = np.moveaxis(x.reshape(images, groups, inner, *extents), (1, 2), (0, -1)).reshape(groups, -1, inner)
    columns = np.moveaxis(filters.reshape(groups, -1, inner, *taps), 1, -1).reshape(groups, inner, -1)
    products = product(rows, columns).reshape(groups, images, *extents, math.prod(taps), outputs // groups)
    axes = list(zip(extents, taps, holes, spread, padding, strict=True))
    places = [max((n - 1) * h + 1 + low + high - (k - 1) * d, 0) for n, k, h, d, (low, high) in axes]
    result = np.zeros((groups, images, *places, outputs // groups), x.dtype)
    for cell, tap in enumerate(np.ndindex(*taps)):
        here, there = [], []
        for t, count, (n, _, h, d, (low, _)) in zip(tap, places, axes, strict=True):
            first = max(-((low - t * d) // h), 0)
            last = max(min((count - 1 - low + t * d) // h, n - 1), first - 1)
            start = first * h + low - t * d
            here.append(slice(start, start + max((last - first) * h + 1, 0), h))
            there.append(slice(first, last + 1))
        result[(slice(None), slice(None), *here)] += products[(slice(None), slice(None), *there, cell)]
    return np.moveaxis(result, (0, -1), (1, 2)).reshape(images, outputs, *places)


def _padded(x: Array, padding: Sequence[tuple[int, int]], holes: Sequence[int]) -> Array:
    """Return images dilated and padded by zeros; a negative padding crops them."""
    shape = [(n - 1) * h + 1 if n else 0 for n, h in zip(x.shape[2:], holes, strict=True)]
    around = [(max(low, 0), max(high, 0)) for low, high in padding]
    extents = [n + low + high for n, (low, high) in zip(shape, around, strict=True)]
    # Channels are contiguous, since windows are copied piece by piece.
    result = np.moveaxis(np.zeros((len(x), *extents, x.shape[1]), x.dtype), -1, 1)
    inner: list[Any] = [slice(low, low + n, h) for n, (low, _), h in zip(shape, around, holes, strict=True)]
    result[(..., *inner)] = x
    cut: list[Any] = [slice(max(-low, 0), n - max(-high, 0)) for n, (low, high) in zip(result.shape[2:], padding, strict=True)]
    return result[(..., *cut)]


def _grouped(windows: Array, filters: Array, spatial: int, feature_groups: int, batch_groups: int) -> Array:
    """Return `[N, O, *places]`, with separate filters for each group of channels or images."""
    places = windows.shape[2 : 2 + spatial]
    groups = max(feature_groups, batch_groups)
    outputs, taps = filters.shape[0] // groups, math.prod(filters.shape[1:])
    split = windows.reshape(
        (groups, windows.shape[0] // groups, *windows.shape[1:])
        if batch_groups > 1
        else (windows.shape[0], groups, windows.shape[1] // groups, *windows.shape[2:])
    )
    if batch_groups == 1:
        split = np.moveaxis(split, 1, 0)  # [groups, N, C/groups, *places, *taps]
    images = split.shape[1]
    rows = np.moveaxis(split, 2, -1).reshape(groups, images * math.prod(places), taps)
    columns = np.moveaxis(filters.reshape(groups, outputs, *filters.shape[1:]), (1, 2), (-1, -2)).reshape(groups, taps, outputs)
    found = product(rows, columns).reshape(groups, images, *places, outputs)
    found = np.moveaxis(found, -1, 2)  # [groups, N, O/groups, *places]
    return np.moveaxis(found, 0, 1).reshape(images, groups * outputs, *places)
