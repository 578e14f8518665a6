"""Convolutions over three axes, each computed by one convolution over two: the filter's planes lie side by side as channels."""

import math

from gradtape._src.core.platform.arrays import jnp
from gradtape._src.ops.floats import wide
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


def _beside(kernel):
    """Return the filter's planes side by side as [height, width, depth, channels, outputs]."""
    return jnp.moveaxis(wide(kernel), 0, 2)


def _stops(ways):
    return [way.out for way in ways]


def convolved(convolve, x, kernel, *, ways, data_format):
    """Convolve all planes at once by `convolve(x, kernel, ways=, data_format=)`, the planes of a window side by side.

    They are laid out as channels of the image or of the result, whichever has fewer.
    """
    (last, back), (depth, flat) = channels_last(data_format), _ways(ways)
    x, dtype, kernel = jnp.transpose(wide(x), last), x.dtype, _beside(kernel)
    *window, planes, inputs, outputs = kernel.shape
    if inputs < outputs or depth.stride > 1:
        seen, kernel = jnp.concatenate(list(_seen(x, depth)), -1), kernel.reshape(*window, planes * inputs, outputs)
        found = convolve(seen, kernel, ways=flat, data_format=LETTERS).reshape(x.shape[0], depth.out, *_stops(flat), outputs)
    else:
        seen, depth = padded(x, [depth])
        kernel = jnp.swapaxes(kernel, -3, -2).reshape(*window, inputs, planes * outputs)
        found = convolve(_flat(seen), kernel, ways=flat, data_format=LETTERS)
        found = found.reshape(*seen.shape[:2], *_stops(flat), planes, outputs)
        found = sum([view[..., cell, :] for cell, view in enumerate(views(found, depth))])
    return jnp.transpose(found, back).astype(dtype)


def to_input(transposed, kernel, dy, *, shape, ways, data_format):
    """Add up the gradients to the planes of the input, all computed by `transposed(kernel, dy, shape=, ways=, data_format=)`."""
    (last, back), (depth, flat) = channels_last(data_format), _ways(ways)
    planes, kernel = _flat(jnp.transpose(wide(dy), last)), _beside(kernel)
    *window, cells, inputs, outputs = kernel.shape
    within = planes.shape[0], *[way.size for way in flat], cells * inputs
    kernel = kernel.reshape(*window, cells * inputs, outputs)
    parts = transposed(kernel, planes, shape=within, ways=flat, data_format=LETTERS)
    parts = parts.reshape(dy.shape[0], depth.out, *within[1:-1], cells, inputs)
    parts = [parts[..., cell, :] for cell in range(cells)]
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
