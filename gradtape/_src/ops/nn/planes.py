"""Convolutions over three axes as sums of convolutions of planes."""

import math

import numpy as np

from gradtape._src.core.platform.arrays import jnp
from gradtape._src.ops.nn.window import channels_last, padded, unviewed, views

MOST = 16  # planes of a filter
LETTERS = "NHWC"  # of planes, which are images in the place of a batch


def _ways(ways):
    """Return the Sweep over the planes, and those in a plane."""
    depth, *flat = [way._replace(axis=axis) for axis, way in enumerate(ways, 1)]
    return depth, [way._replace(axis=way.axis - 1) for way in flat]


def _flat(x):
    """Return the planes of images as images."""
    return x.reshape(x.shape[0] * x.shape[1], *x.shape[2:])


def _seen(x, depth):
    """Yield for each cell of the window along the planes' axis the planes that it meets, as images."""
    return map(_flat, views(*padded(x, [depth])))


def _wide(x):
    """Return what is to be added up: of 16 bits in float32, as a convolution adds."""
    return x.astype(np.float32) if x.dtype.itemsize == 2 else x


def convolved(convolve, x, kernel, *, ways, data_format):
    """Return the sum of what the planes of the filter give, each by `convolve(x, kernel, ways=, data_format=)`."""
    (last, back), (depth, flat) = channels_last(data_format), _ways(ways)
    planes, kernels = _seen(jnp.transpose(_wide(x), last), depth), _wide(kernel)
    total = sum(convolve(plane, kernels[i], ways=flat, data_format=LETTERS) for i, plane in enumerate(planes))
    return jnp.transpose(total.reshape(x.shape[0], depth.out, *total.shape[1:]), back).astype(x.dtype)


def to_input(transposed, kernel, dy, *, shape, ways, data_format):
    """Return the sum of what `transposed(kernel, dy, shape=, ways=, data_format=)` gives of each plane, where it was."""
    (last, back), (depth, flat) = channels_last(data_format), _ways(ways)
    planes, kernels = _flat(jnp.transpose(_wide(dy), last)), _wide(kernel)
    within = len(planes), *[way.size for way in flat], kernel.shape[-2]
    parts = [transposed(kernels[i], planes, shape=within, ways=flat, data_format=LETTERS) for i in range(depth.extent)]
    parts = [part.reshape(dy.shape[0], depth.out, *within[1:]) for part in parts]
    found = unviewed(lambda cell, *parts: parts[cell], parts, [depth], [shape[axis] for axis in last])
    return jnp.transpose(found, back).astype(dy.dtype)


def to_filter(transposed, x, dy, *, shape, ways, data_format):
    """Return what `transposed(x, dy, shape=, ways=, data_format=)` gives for each plane of the filter."""
    (last, _), (depth, flat) = channels_last(data_format), _ways(ways)
    planes, seen = _flat(jnp.transpose(dy, last)), _seen(jnp.transpose(x, last), depth)
    return jnp.stack([transposed(plane, planes, shape=shape[1:], ways=flat, data_format=LETTERS) for plane in seen])


def fit(ways):
    """Return whether a convolution is one over three axes, of few planes, with something in each of them."""
    return len(ways) == 3 and ways[0].extent <= MOST and math.prod([way.out * way.size for way in ways]) > 0
