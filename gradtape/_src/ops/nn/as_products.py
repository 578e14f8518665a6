"""Convolutions as matrix products, for windows with more cells than the image, and for few channels."""

import math

import numpy as np

from gradtape._src.core.platform.arrays import jnp, lax
from gradtape._src.ops.floats import wide
from gradtape._src.ops.nn.window import channels_last, padded

MOST_CELLS = 256  # largest window, in cells, for which patches are laid out


def is_looped(window, image):
    """Return whether XLA compiles a convolution to loops; `window` and `image` are extents along the spatial axes."""
    return math.prod(image) < math.prod(window) <= MOST_CELLS


def product_of_patches(x, kernel, *, ways, data_format):
    """Compute a convolution as [places, window · channels] × [window · channels, outputs].

    Patches are laid out along the channels, axis by axis: fewer copies than `views`, a slice for each cell of the window.
    """
    last, back = channels_last(data_format)
    patches, ways = padded(jnp.transpose(x, last), [way._replace(axis=axis) for axis, way in enumerate(ways, 1)])
    for way in reversed(ways):
        starts = [way.meets(cell, 0) for cell in range(way.extent)]
        ends = [(start, start + way.span, way.stride) for start in starts]
        patches = jnp.concatenate([lax.slice_in_dim(patches, *each, way.axis) for each in ends], -1)
    return jnp.transpose(jnp.matmul(patches, kernel.reshape(-1, kernel.shape[-1])), back)


def products_of_cells(kernel, dy, *, shape, ways, data_format):
    """Compute a transposed convolution: the sum of [places, outputs] × [outputs, channels] over the cells of the window."""
    (last, back), rank = channels_last(data_format), len(ways)
    dy, each = wide(jnp.transpose(dy, last)), wide(kernel.reshape(-1, kernel.shape[-1]))  # convolutions sum in float32, too
    result = jnp.matmul(dy, each.T).reshape(*dy.shape[:-1], *kernel.shape[:-1])
    for axis, way in reversed(list(enumerate(ways, 1))):  # merges stops and cells into one axis, from the last one on
        result = jnp.moveaxis(result, rank + axis, axis + 1)
        cell, nothing = np.arange(way.extent), way.out * way.extent  # index of a zero behind the other entries
        from_first = np.arange(way.size)[:, None] - way.meets(cell, 0)
        stop, between = from_first // way.stride, from_first % way.stride
        met = np.where((between == 0) & (stop >= 0) & (stop < way.out), stop * way.extent + cell, nothing)
        result = result.reshape(*result.shape[:axis], nothing, *result.shape[axis + 2 :])
        result = lax.pad(result, jnp.zeros((), result.dtype), [(0, int(i == axis), 0) for i in range(result.ndim)])
        result = jnp.take(result, met.astype(np.int32), axis=axis, mode="clip").sum(axis + 1)
    return jnp.transpose(result, back).astype(kernel.dtype)
