"""Convolution gradients for a cotangent that is constant over space.

A mean or a sum over space sends such a cotangent, in effect [N, 1, 1, O]. It is not expanded to an image. Let S[n, i, j, c] be
the sum of the input over all positions that cell (i, j) of the window covers. The filter's gradient is Σ_n S[n, i, j, c] ·
dy[n, o], and the input's is the transpose of that sum.
"""

import math

import numpy as np

from gradtape._src.core.declarations.define import gradient, op
from gradtape._src.core.platform.arrays import jnp
from gradtape._src.core.tensors.tensor import emit, extents_of
from gradtape._src.core.values.aval import aval
from gradtape._src.core.values.dim import is_same, same_shape
from gradtape._src.ops import flops
from gradtape._src.ops.array.shape import _broadcast_to, _reshape, broadcast_source
from gradtape._src.ops.linalg.einsum import einsum
from gradtape._src.ops.nn.window import spatial_axes, sweeps


def constant_over(dy, axes):
    """Return the source [N, C] of the image `dy`, if it was recorded as a broadcast along the spatial axes `axes`; else None."""
    if dy.dtype.size < 4:  # sums over space overflow 16-bit floats
        return None
    source = broadcast_source(dy, axes)
    if source is None:
        source = _source_before_reshape(dy, axes)
    if source is None:
        return None
    kept = tuple([extent for axis, extent in enumerate(extents_of(source)) if axis not in axes])
    wanted = tuple([extent for axis, extent in enumerate(extents_of(dy)) if axis not in axes])
    source = _reshape(source, shape=kept)
    return source if same_shape(kept, wanted) else _broadcast_to(source, shape=wanted)


def _source_before_reshape(dy, axes):
    """Return the source of a broadcast that was reshaped by axes of extent 1, as in the gradient of squeeze; else None."""
    node = dy.node
    if node.op is not _reshape.op or node.inputs is None:
        return None
    (before,) = node.inputs
    if before.op is not _broadcast_to.op or before.inputs is None:
        return None
    (source,) = before.inputs
    shapes = node.aval.shape, before.aval.shape
    if not same_shape(*[[extent for extent in shape if not is_same(extent, 1)] for shape in shapes]):
        return None
    have = (1,) * (before.aval.ndim - source.aval.ndim) + source.aval.shape
    kept = iter([extent for extent, whole in zip(have, before.aval.shape, strict=True) if not is_same(whole, 1)])
    shape = tuple([1 if is_same(whole, 1) else next(kept) for whole in node.aval.shape])
    return emit(_reshape.op, (source,), (shape,)) if all(is_same(shape[axis], 1) for axis in axes) else None


def _meetings(ways, dtype):
    """Yield for each axis a matrix [cells of the window, cells of the axis]: 1 where the former ever covers the latter."""
    for way in ways:
        meets = np.zeros((way.extent, way.size), dtype)
        for i in range(way.extent):
            meets[i, [way.meets(i, stop) for stop in range(*way.inside(i))]] = 1
        yield meets


def _letters(ways, data_format):
    """Return the einsum subscripts of image, matrices and window."""
    image = data_format.lower()
    window = "ijk"[: len(ways)]
    return image, [f"{cell}{image[way.axis]}" for cell, way in zip(window, ways, strict=True)], f"n{window}c"


def _sum_aval(input, *, window, data_format, **geometry):
    _, channel = spatial_axes(data_format)
    return aval((input.shape[0], *window, input.shape[channel]), input.dtype)


@op("WindowSum", infer=_sum_aval, flops=flops.window_sums, traits="own")
def _window_sum(input, *, window, strides, padding, explicit_paddings, data_format, dilations):
    ways = sweeps(input.shape, window, strides, padding, explicit_paddings, data_format, dilations)
    image, matrices, cells = _letters(ways, data_format)
    return jnp.einsum(f"{image},{','.join(matrices)}->{cells}", input, *_meetings(ways, input.dtype), precision="highest")


@op("WindowSpread", infer=lambda sums, input_sizes, **_: aval(input_sizes, sums.dtype), flops=flops.window_sums, traits="own")
def _window_spread(sums, *, input_sizes, strides, padding, explicit_paddings, data_format, dilations):
    ways = sweeps(input_sizes, sums.shape[1:-1], strides, padding, explicit_paddings, data_format, dilations)
    image, matrices, cells = _letters(ways, data_format)
    return jnp.einsum(f"{cells},{','.join(matrices)}->{image}", sums, *_meetings(ways, sums.dtype), precision="highest")


@gradient(_window_sum)
def _(dy, input, *, window, **geometry):
    return _window_spread(dy, input_sizes=extents_of(input), **geometry)


@gradient(_window_spread)
def _(dy, sums, *, input_sizes, **geometry):
    return _window_sum(dy, window=extents_of(sums)[1:-1], **geometry)


def filter_of_constant(image, dy, filter_shape, geometry):
    """Return the gradient to a filter [*window, channels / groups, outputs] for a `dy` [N, outputs] constant over space."""
    *window, inputs, outputs = filter_shape
    sums = _window_sum(image, window=tuple(window), **geometry)
    batch, channels = extents_of(sums)[0], extents_of(sums)[-1]
    groups = channels // inputs
    sums = _reshape(sums, shape=(batch, math.prod(window), groups, inputs))
    dy = _reshape(dy, shape=(batch, groups, outputs // groups))
    return _reshape(einsum("npgc,ngo->pcgo", sums, dy), shape=filter_shape)


def input_of_constant(kernel, dy, input_shape, geometry):
    """Return the gradient to the image, of shape `input_shape`, for a `dy` [N, outputs] that is constant over space."""
    *window, inputs, outputs = extents_of(kernel)
    batch, channels = extents_of(dy)[0], input_shape[spatial_axes(geometry["data_format"])[1]]
    groups = channels // inputs
    kernel = _reshape(kernel, shape=(math.prod(window), inputs, groups, outputs // groups))
    dy = _reshape(dy, shape=(batch, groups, outputs // groups))
    sums = _reshape(einsum("pcgo,ngo->npgc", kernel, dy), shape=(batch, *window, channels))
    return _window_spread(sums, input_sizes=input_shape, **geometry)
