"""Convolutions as products of matrices, where the window has more cells than the image."""

import math

import numpy as np

from gradtape._src.core.platform.arrays import jnp, lax
from gradtape._src.ops.nn.window import channels_last, padded

MOST_CELLS = 256  # of a window whose patches are laid out


def is_looped(window, image):
    """Return whether XLA makes loops of a convolution: `window` and `image` are extents along the spatial axes."""
    return math.prod(image) < math.prod(window) <= MOST_CELLS


def product_of_patches(x, kernel, *, ways, data_format):
    """Return [places, window · channels] × [window · channels, outputs].

    Patches are taken axis by axis: `views` has a slice for each cell of the window, and is compiled half as fast.
    """
    (last, back), rank = channels_last(data_format), len(ways)
    patches, ways = padded(jnp.transpose(x, last), [way._replace(axis=axis) for axis, way in enumerate(ways, 1)])
    for place, way in enumerate(ways):  # makes of an axis the stops and the window's cells
        met = way.meets(np.arange(way.extent), np.arange(way.out)[:, None])
        patches = jnp.take(patches, met.astype(np.int32), axis=1 + 2 * place, mode="clip")
    stops, window = range(1, 2 * rank, 2), range(2, 2 * rank + 1, 2)
    patches = jnp.transpose(patches, (0, *stops, *window, 2 * rank + 1))
    patches = patches.reshape(*patches.shape[: rank + 1], math.prod(patches.shape[rank + 1 :]))
    return jnp.transpose(jnp.matmul(patches, kernel.reshape(-1, kernel.shape[-1])), back)


def products_of_cells(kernel, dy, *, shape, ways, data_format):
    """Return the sum over the window's cells of [places, outputs] × [outputs, channels], each where the cell was."""
    (last, back), rank = channels_last(data_format), len(ways)
    dtype = np.dtype(np.float32) if dy.dtype.itemsize == 2 else dy.dtype  # as a convolution adds up 16 bits
    dy, each = jnp.transpose(dy, last).astype(dtype), kernel.reshape(-1, kernel.shape[-1]).astype(dtype)
    result = jnp.matmul(dy, each.T).reshape(*dy.shape[:-1], *kernel.shape[:-1])
    for axis, way in reversed(list(enumerate(ways, 1))):  # makes an axis of the stops and the window's cells, the last ones first
        result = jnp.moveaxis(result, rank + axis, axis + 1)
        cell, nothing = np.arange(way.extent), way.out * way.extent  # which is a zero behind the others
        from_first = np.arange(way.size)[:, None] - way.meets(cell, 0)
        stop, between = from_first // way.stride, from_first % way.stride
        met = np.where((between == 0) & (stop >= 0) & (stop < way.out), stop * way.extent + cell, nothing)
        result = result.reshape(*result.shape[:axis], nothing, *result.shape[axis + 2 :])
        result = lax.pad(result, jnp.zeros((), dtype), [(0, int(i == axis), 0) for i in range(result.ndim)])
        result = jnp.take(result, met.astype(np.int32), axis=axis, mode="clip").sum(axis + 1)
    return jnp.transpose(result, back).astype(kernel.dtype)
