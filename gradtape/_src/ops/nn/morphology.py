"""Greyscale dilation and erosion: extrema over a window of the image plus or minus the window's weights."""

import functools

from gradtape._src.core.base.errors import invalid
from gradtape._src.core.base.public import public
from gradtape._src.core.declarations.define import gradient, op
from gradtape._src.core.platform.arrays import jnp
from gradtape._src.core.tensors.convert import tensor
from gradtape._src.core.values.aval import aval
from gradtape._src.ops.array.rearrange import reverse
from gradtape._src.ops.array.shape import plain
from gradtape._src.ops.nn.convolution import check_geometry
from gradtape._src.ops.nn.window import (
    lowest,
    outside_padding,
    positions,
    sequence,
    sweeps,
    swept,
    unviewed,
    views,
    winners,
)
from gradtape._src.ops.shapes import REAL, require


def _picked_aval(input, filter, values, **geometry):
    return _dilation_aval(input, filter, **geometry)


def _ways(shape, filter_shape, strides, rates, padding):
    return sweeps(shape, filter_shape[:2], strides, padding, (), "NHWC", rates, fits=False)


def _candidates(input, filter, ways):
    """Yield image plus filter at all stops for each cell of the window, with the least number in the padding."""
    least = jnp.asarray(lowest(input.dtype), input.dtype)
    weights = filter.reshape(-1, filter.shape[2])
    for view, weight, cell in zip(views(input, ways), weights, positions(ways), strict=True):
        yield jnp.where(outside_padding(cell, ways, view.shape), view + weight, least)


def _winners(input, filter, ways):
    best = functools.reduce(jnp.maximum, _candidates(input, filter, ways))
    return winners(_candidates(input, filter, ways), best, ways)


def _dilation_aval(input, filter, *, strides, rates, padding):
    require(input, REAL)
    check_geometry(2, strides, padding, (), "NHWC", rates)
    for x, rank, what in ((input, 4, "input"), (filter, 3, "filter")):
        if x.ndim != rank:
            axes = "[batch, height, width, channels]" if rank == 4 else "[height, width, channels]"
            raise invalid(f"{what} must be {rank}-dimensional: {plain(x.shape)}. Its axes are {axes}.")
    if input.shape[3] != filter.shape[2]:
        raise invalid(
            f"input and filter must have the same depth: {input.shape[3]} vs {filter.shape[2]}. Each channel has a "
            "window of its own."
        )
    if 0 in filter.shape[:2]:
        raise invalid(f"filter must not have zero elements: its shape is {plain(filter.shape)}.")
    ways = _ways(input.shape, filter.shape, strides, rates, padding)
    return aval(swept(input.shape, ways, 3, input.shape[3]), input.dtype)


@op("Dilation2D", infer=_dilation_aval, saves="input filter")
def _dilation(input, filter, *, strides, rates, padding):
    return functools.reduce(jnp.maximum, _candidates(input, filter, _ways(input.shape, filter.shape, strides, rates, padding)))


# The gradients to the image and to the filter go to the cells with the maximum. They are linear in the cotangent, and each is
# the transpose of an op that gathers values at these cells from an array shaped like the image or the filter.


@op("Dilation2DBackpropInput", infer=lambda input, filter, out_backprop, **_: input, saves="input filter")
def _to_input(input, filter, out_backprop, *, strides, rates, padding):
    ways = _ways(input.shape, filter.shape, strides, rates, padding)

    def part(number, winner, dy):
        return jnp.where(winner == number, dy, jnp.zeros_like(dy))

    return unviewed(part, (_winners(input, filter, ways), out_backprop), ways, input.shape)


@op("Dilation2DBackpropFilter", infer=lambda input, filter, out_backprop, **_: filter, saves="input filter")
def _to_filter(input, filter, out_backprop, *, strides, rates, padding):
    ways = _ways(input.shape, filter.shape, strides, rates, padding)
    winner, nothing = _winners(input, filter, ways), jnp.zeros_like(out_backprop)
    sums = [
        jnp.sum(jnp.where(winner == number, out_backprop, nothing), (0, 1, 2))
        for number in range(filter.shape[0] * filter.shape[1])
    ]
    return jnp.stack(sums).reshape(filter.shape)


@op("Dilation2DPickInput", infer=_picked_aval, saves="input filter", traits="own")
def _pick_input(input, filter, values, *, strides, rates, padding):
    ways = _ways(input.shape, filter.shape, strides, rates, padding)
    return _picked(_winners(input, filter, ways), views(values, ways))


@op("Dilation2DPickFilter", infer=_picked_aval, saves="input filter", traits="own")
def _pick_filter(input, filter, values, *, strides, rates, padding):
    ways = _ways(input.shape, filter.shape, strides, rates, padding)
    return _picked(_winners(input, filter, ways), values.reshape(-1, values.shape[2]))


def _picked(winner, values):
    chosen = None
    for number, value in enumerate(values):
        chosen = jnp.broadcast_to(value, winner.shape) if chosen is None else jnp.where(winner == number, value, chosen)
    return chosen


@gradient(_dilation)
def _(dy, input, filter, needs_input, needs_filter, **geometry):
    return (
        _to_input(input, filter, dy, **geometry) if needs_input else None,
        _to_filter(input, filter, dy, **geometry) if needs_filter else None,
    )


def _linear(function, transpose):
    """Register the gradient of `function`, which is linear in its third input and piecewise constant in the others."""

    @gradient(function)
    def _(dy, input, filter, op, **geometry):
        return None, None, transpose(input, filter, dy, **geometry) if op.needed[2] else None


_linear(_to_input, _pick_input)
_linear(_pick_input, _to_input)
_linear(_to_filter, _pick_filter)
_linear(_pick_filter, _to_filter)


def _attributes(strides, padding, data_format, dilations):
    if data_format != "NHWC":
        raise ValueError(f"`data_format` values other than 'NHWC' are not supported. Received: data_format={data_format}")
    return {
        "strides": sequence(strides, 2, data_format, "strides"),
        "rates": sequence(dilations, 2, data_format, "dilations"),
        "padding": padding,
    }


@public
def dilation2d(input, filters, strides, padding, data_format, dilations, name=None):
    """Compute the greyscale dilation: y[n, h, w, c] = max over (i, j) of x[n, h·s + i·d, w·s + j·d, c] + filters[i, j, c].

    `input` is [batch, height, width, channels], `filters` [height, width, channels], both of one real dtype, which the result
    has. The gradient goes to the first cell with the maximum.

    >>> x = tf.reshape([0.0, 5.0, 0.0, 0.0], [1, 1, 4, 1])
    >>> print(tf.nn.dilation2d(x, tf.zeros([1, 3, 1]), [1, 1, 1, 1], "SAME", "NHWC", [1, 1, 1, 1]).numpy().ravel())
    [5. 5. 5. 0.]
    """
    return _dilation(input, filters, **_attributes(strides, padding, data_format, dilations))


@public
def erosion2d(value, filters, strides, padding, data_format, dilations, name=None):
    """Compute the greyscale erosion, the minimum of x − filters: the negative of the dilation of −x by the reversed filters.

    >>> x = tf.reshape([5.0, 5.0, 1.0, 5.0], [1, 1, 4, 1])
    >>> print(tf.nn.erosion2d(x, tf.zeros([1, 3, 1]), [1, 1, 1, 1], "SAME", "NHWC", [1, 1, 1, 1]).numpy().ravel())
    [5. 1. 1. 1.]
    """
    turned = reverse(tensor(filters), [0, 1])
    return -dilation2d(-tensor(value), turned, strides, padding, data_format, dilations)
