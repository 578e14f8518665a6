"""Convolutions of one to three spatial axes, grouped, depthwise, dilated and transposed.

A convolution is linear in the image and in the filter, so it comes as three ops: itself, and its transpose with respect
to either. Each is the gradient of the other two, which closes all orders.

Where the incoming gradient is the same at every place (it comes from a mean or a sum over space), no image of it is made:
the filter's gradient needs only the sums of the input that each cell of the window meets (`WindowSum`), and the input's
gradient is the transpose of that (`WindowSpread`).
"""

import math
from functools import partial

import jax
import jax.numpy as jnp
from jax import lax

from gradtape._src.core.aval import aval
from gradtape._src.core.define import gradient, op
from gradtape._src.core.errors import UnimplementedError, invalid
from gradtape._src.ops.array import _broadcast_to, _reshape, broadcast_source, plain
from gradtape._src.ops.einsum import einsum
from gradtape._src.ops.shapes import FLOATING, require
from gradtape._src.ops.window import (
    CHANNELS_FIRST,
    CHANNELS_LAST,
    MOST_VIEWS,
    cells,
    check_paddings,
    one_of,
    spatial_axes,
    sweeps,
    swept,
    unviewed,
    views,
)

FEW_CHANNELS = 4  # up to here, the filter's gradient is one product with the patches of the image


# ---------------------------------------------------------------------------------------------------------------------
# Kernels. `ways` are the Sweeps of the window over the spatial axes of the image.


def _filter_format(data_format, kind):
    """How the filter's axes stand, in JAX's letters: spatial axes as in the image, then in and out."""
    return data_format.replace("N", "").replace("C", "") + kind


def _convolve(x, kernel, ways, data_format, groups):
    return lax.conv_general_dilated(
        x,
        kernel,
        [way.stride for way in ways],
        [way.padding for way in ways],
        rhs_dilation=[way.dilation for way in ways],
        dimension_numbers=(data_format, _filter_format(data_format, "IO"), data_format),
        feature_group_count=groups,
    )


def _to_input(kernel, dy, ways, data_format, groups):
    """The transpose with respect to the image: dy with cells put in between, convolved with the filter turned round."""
    if groups > 1:  # the filters of each group, with in and out exchanged
        *extents, inputs, outputs = kernel.shape
        kernel = kernel.reshape(*extents, inputs, groups, outputs // groups)
        kernel = jnp.swapaxes(kernel, -3, -1).reshape(*extents, outputs // groups, groups * inputs)
    return lax.conv_general_dilated(
        dy,
        lax.rev(kernel, range(len(ways))),
        [1] * len(ways),
        [(way.reach - 1 - low, way.reach - 1 - high) for way in ways for low, high in [way.padding]],
        lhs_dilation=[way.stride for way in ways],
        rhs_dilation=[way.dilation for way in ways],
        dimension_numbers=(data_format, _filter_format(data_format, "IO" if groups > 1 else "OI"), data_format),
        feature_group_count=groups,
    )


def _to_filter(x, dy, ways, data_format, groups):
    """The transpose with respect to the filter, of shape [window, channels / groups, outputs]."""
    spatial, channel = spatial_axes(data_format)
    few = x.shape[channel] <= FEW_CHANNELS and jax.default_backend() == "cpu"
    if groups == 1 and few and cells(ways) <= MOST_VIEWS:
        return _patches_product(x, dy, ways, spatial, channel)
    if groups > 1:
        return _group_products(x, dy, ways, channel, groups)
    # A convolution of the image with dy, in which batches and channels have changed places.
    exchanged = data_format.translate(str.maketrans("NC", "CN"))
    return lax.conv_general_dilated(
        x,
        dy,
        [way.dilation for way in ways],
        [way.padding for way in ways],
        rhs_dilation=[way.stride for way in ways],
        dimension_numbers=(exchanged, data_format.replace("N", "I").replace("C", "O"), _filter_format(data_format, "NC")),
    )


def _patches_product(x, dy, ways, spatial, channel):
    """[window · channels, places] × [places, outputs]."""
    x = jnp.transpose(x, (channel, 0, *spatial))
    moved = [way._replace(axis=axis) for axis, way in enumerate(ways, 2)]
    patches = jnp.stack(list(views(x, moved, 0)))
    outputs = dy.shape[channel]
    places = jnp.transpose(dy, (0, *spatial, channel)).reshape(-1, outputs)
    product = patches.reshape(cells(ways) * x.shape[0], -1) @ places
    return product.reshape(*[way.extent for way in ways], x.shape[0], outputs)


def _group_products(x, dy, ways, channel, groups):
    """For each cell of the window and each group, [channels, places] × [places, outputs]."""

    def grouped(image):
        return image.reshape(*image.shape[:channel], groups, -1, *image.shape[channel + 1 :])

    others = [axis for axis in range(dy.ndim + 1) if axis not in (channel, channel + 1)]
    dy = grouped(dy)
    numbers = (others, others), ([channel], [channel])
    products = [lax.dot_general(grouped(view), dy, numbers) for view in views(x, ways, 0)]  # each [groups, inputs, outputs]
    stacked = jnp.swapaxes(jnp.stack(products), 1, 2)
    return stacked.reshape(*[way.extent for way in ways], stacked.shape[1], -1)


# A depthwise filter is [window, channels, multiplier]; each output is a sum of few products, without a matrix in it.


def _spread_channels(kernel, channel, rank):
    """A cell of a depthwise filter, [channels, multiplier], to be multiplied with an image whose channels are two axes."""
    return lax.broadcast_in_dim(kernel, (1,) * channel + kernel.shape + (1,) * (rank - 1 - channel), (channel, channel + 1))


def _two_axes(image, channel, channels):
    """An image with its axis of channels split into [channels, multiplier]."""
    return image.reshape(*image.shape[:channel], channels, -1, *image.shape[channel + 1 :])


def _one_axis(image, channel):
    """An image whose channels are two axes, with those made one."""
    return image.reshape(*image.shape[:channel], -1, *image.shape[channel + 2 :])


def _depthwise(x, kernel, ways, data_format, groups):
    channel = spatial_axes(data_format)[1]
    cells_ = kernel.reshape(-1, *kernel.shape[-2:])
    total = sum(
        [
            jnp.expand_dims(view, channel + 1) * _spread_channels(cell, channel, x.ndim)
            for view, cell in zip(views(x, ways, 0), cells_, strict=True)
        ]
    )
    return _one_axis(total, channel)
