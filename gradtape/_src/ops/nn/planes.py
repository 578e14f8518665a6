"""Convolutions over three axes, computed as sums of convolutions over two."""

import math

import numpy as np

from gradtape._src.core.platform.arrays import jnp
from gradtape._src.ops.nn.window import channels_last, padded, unviewed, views

MOST = 16  # largest depth of a filter
LETTERS = "NHWC"  # the format of planes, which form a batch of images


def _ways(ways):
    """Return the Sweep along depth, and those in a plane."""
    depth, *flat = [way._replace(axis=axis) for axis, way in enumerate(ways, 1)]
    return depth, [way._replace(axis=way.axis - 1) for way in flat]


def _flat(x):
    """Merge depth into the batch, so that planes are images."""
    return x.reshape(x.shape[0] * x.shape[1], *x.shape[2:])


def _seen(x, depth):
    """Yield, for each window offset along depth, the input slices it covers, as a batch of 2-D images."""
    return map(_flat, views(*padded(x, [depth])))


def _wide(x):
    """Return `x` as the type to sum in: float32 for 16-bit floats, as convolutions do."""
    return x.astype(np.float32) if x.dtype.itemsize == 2 else x


def convolved(convolve, x, kernel, *, ways, data_format):
    """Sum the convolutions of the filter's planes, each computed by `convolve(x, kernel, ways=, data_format=)`."""
    (last, back), (depth, flat) = channels_last(data_format), _ways(ways)
    planes, kernels = _seen(jnp.transpose(_wide(x), last), depth), _wide(kernel)
    total = sum(convolve(plane, kernels[i], ways=flat, data_format=LETTERS) for i, plane in enumerate(planes))
    return jnp.transpose(total.reshape(x.shape[0], depth.out, *total.shape[1:]), back).astype(x.dtype)


def to_input(transposed, kernel, dy, *, shape, ways, data_format):
    """Add the gradients to the planes of the input, each computed by `transposed(kernel, dy, shape=, ways=, data_format=)`."""
    (last, back), (depth, flat) = channels_last(data_format), _ways(ways)
    planes, kernels = _flat(jnp.transpose(_wide(dy), last)), _wide(kernel)
    within = len(planes), *[way.size for way in flat], kernel.shape[-2]
    parts = [transposed(kernels[i], planes, shape=within, ways=flat, data_format=LETTERS) for i in range(depth.extent)]
    parts = [part.reshape(dy.shape[0], depth.out, *within[1:]) for part in parts]
    found = unviewed(lambda cell, *parts: parts[cell], parts, [depth], [shape[axis] for axis in last])
    return jnp.transpose(found, back).astype(dy.dtype)


def to_filter(transposed, x, dy, *, shape, ways, data_format):
    """Stack the gradients to the planes of the filter, each computed by `transposed(x, dy, shape=, ways=, data_format=)`."""
    (last, _), (depth, flat) = channels_last(data_format), _ways(ways)
    planes, seen = _flat(jnp.transpose(dy, last)), _seen(jnp.transpose(x, last), depth)
    return jnp.stack([transposed(plane, planes, shape=shape[1:], ways=flat, data_format=LETTERS) for plane in seen])


def fit(ways):
    """Return whether a convolution has three axes, few planes and no empty plane."""
    return len(ways) == 3 and ways[0].extent <= MOST and math.prod([way.out * way.size for way in ways]) > 0
