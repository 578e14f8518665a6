"""Maximum and mean pooling over one to three spatial axes.

A maximum is taken over the window's strided views of the image. The winner, the first cell that equals the maximum, is a small
integer for each stop of the window. The gradient, and everything else that follows the winners, reads it.
"""

import functools
import math

import numpy as np

from gradtape._src.core.base.errors import UnimplementedError, invalid
from gradtape._src.core.base.public import public
from gradtape._src.core.declarations.define import gradient, op
from gradtape._src.core.platform import xla
from gradtape._src.core.platform.arrays import jnp, lax
from gradtape._src.core.tensors.convert import static_list, tensor
from gradtape._src.core.tensors.tensor import Tensor, extents_of
from gradtape._src.core.values import dtypes
from gradtape._src.core.values.aval import aval
from gradtape._src.ops import flops
from gradtape._src.ops.array.shape import _broadcast_to, broadcast_source, expand_dims, plain, reshape, squeeze, zeros
from gradtape._src.ops.floats import divided, is_zeros, mean_over, wide
from gradtape._src.ops.math.arithmetic import under_broadcast
from gradtape._src.ops.nn.maxima import maximum, of_winners, over_windows, to_all_equal, to_winners
from gradtape._src.ops.nn.window import (
    CHANNELS_FIRST,
    CHANNELS_LAST,
    cells,
    check_paddings,
    flat_geometry,
    geometry,
    not_both,
    sequence,
    spatial_axes,
    sweeps,
    swept,
    unviewed,
)
from gradtape._src.ops.shapes import FLOATING, INDEX, named_dtype, one_of, require

ORDERED = (*FLOATING, "int32", "int64", "uint8", "int16", "int8", "uint16")


# ---------------------------------------------------------------------------------------------------------------------
# Shapes


def _ways(shape, ksize, strides, padding, explicit_paddings, data_format, dilations):
    """Return the Sweeps of a pool over the spatial axes of images of `shape`."""
    extents = [ksize[axis] for axis in spatial_axes(data_format)[0]]
    return sweeps(shape, extents, strides, padding, explicit_paddings, data_format, dilations)


def _pool_aval(rank, allowed, input, *, ksize, strides, padding, explicit_paddings, data_format, dilations):
    """Infer the Aval of a pool of `rank` spatial axes; InvalidArgumentError or UnimplementedError for invalid attributes."""
    require(input, allowed)
    one_of(data_format, (CHANNELS_LAST[rank], CHANNELS_FIRST[rank]), "data_format")
    check_paddings(padding, explicit_paddings, data_format)
    if input.ndim != rank + 2:
        raise invalid(
            f"tensor_in_shape must have {rank} spatial dimensions: received {plain(input.shape)} for {data_format}. "
            "expand_dims puts a missing axis in."
        )
    spatial, channel = spatial_axes(data_format)
    if min(ksize) < 1:
        raise invalid(f"Sliding window ksize must be positive. The specified or inferred ksize is: {','.join(map(str, ksize))}")
    if min(strides) < 1:
        raise invalid(f"Stride must be > 0, but got {min(strides)}")
    if ksize[0] != 1 or strides[0] != 1:
        raise UnimplementedError.saying(f"Pooling is not yet supported on the batch dimension: ksize={list(ksize)}.")
    if ksize[channel] != 1 or strides[channel] != 1:
        raise UnimplementedError.saying(
            f"Non-spatial pooling is not yet supported: ksize={list(ksize)}. Transpose the channels to a spatial axis."
        )
    for axis in spatial if padding == "EXPLICIT" else ():
        for amount in explicit_paddings[2 * axis : 2 * axis + 2]:
            if amount >= ksize[axis]:
                raise invalid(f"Padding {amount} needs to be smaller than the window size {ksize[axis]}, on axis {axis}.")
    ways = _ways(input.shape, ksize, strides, padding, explicit_paddings, data_format, dilations)
    return aval(swept(input.shape, ways, channel, input.shape[channel]), input.dtype)


# ---------------------------------------------------------------------------------------------------------------------
# Maxima


def _maxima(types, rank):
    """Define a maximum pool of `rank` spatial axes, its gradient op, and the gradient op of that; return the three.

    The first of equal elements gets the cotangent. With three spatial axes all of them get it, as in TensorFlow.
    """
    infer = functools.partial(_pool_aval, rank, ORDERED if rank == 2 else FLOATING)

    @op(types[0], infer=infer, saves="input", prefers="float32" if rank == 2 else None, flops=flops.pooling(-1, -1))
    def pool(input, *, ksize, strides, padding, explicit_paddings, data_format, dilations):
        return maximum(input, _ways(input.shape, ksize, strides, padding, explicit_paddings, data_format, dilations))

    @op(types[1], infer=lambda x, y, grad, **geometry: x, saves="orig_input orig_output", flops=flops.pooling(2, 0))
    def to_input(orig_input, orig_output, grad, *, ksize, strides, padding, explicit_paddings, data_format, dilations):
        ways = _ways(orig_input.shape, ksize, strides, padding, explicit_paddings, data_format, dilations)
        return (to_winners if rank == 2 else to_all_equal)(orig_input, orig_output, grad, ways)

    @op(types[2], infer=lambda orig_input, orig_output, grad, **geometry: orig_output, saves="orig_input orig_output")
    def to_output(orig_input, orig_output, grad, *, ksize, strides, padding, explicit_paddings, data_format, dilations):
        ways = _ways(orig_input.shape, ksize, strides, padding, explicit_paddings, data_format, dilations)
        return of_winners(orig_input, grad, ways)

    @gradient(pool)
    def _(dy, input, **geometry):
        if is_zeros(dy):
            return zeros(extents_of(input), input.dtype)
        return to_input(input, pool(input, **geometry), dy, **geometry)  # computed again, as by the gradient of `tf.reduce_max`

    def linear(function, transpose):
        @gradient(function)
        def _(dy, orig_input, orig_output, needs_orig_input, needs_orig_output, needs_grad, **geometry):
            return (
                zeros(extents_of(orig_input), orig_input.dtype) if needs_orig_input else None,
                zeros(extents_of(orig_output), orig_output.dtype) if needs_orig_output else None,
                transpose(orig_input, orig_output, dy, **geometry) if needs_grad else None,
            )

    linear(to_input, to_output)
    linear(to_output, to_input)
    return pool, to_input, to_output


_max_types = {
    2: ("MaxPool", "MaxPoolGrad", "MaxPoolGradGrad"),
    3: ("MaxPool3D", "MaxPool3DGrad", "MaxPool3DGradGrad"),
}
MAXIMA = {rank: _maxima(types, rank) for rank, types in _max_types.items()}


def _with_argmax_avals(input, *, ksize, strides, padding, Targmax, include_batch_in_index):
    maxima = _pool_aval(2, ORDERED, input, **_channels_last(ksize, strides, padding))
    return maxima, aval(maxima.shape, Targmax)


def _channels_last(ksize, strides, padding):
    return {
        "ksize": ksize,
        "strides": strides,
        "padding": padding,
        "explicit_paddings": (),
        "data_format": CHANNELS_LAST[2],
        "dilations": (1, 1, 1, 1),
    }


@op("MaxPoolWithArgmax", infer=_with_argmax_avals, saves="input")
def _max_pool_with_argmax(input, *, ksize, strides, padding, Targmax, include_batch_in_index):
    ways = _ways(input.shape, **_channels_last(ksize, strides, padding))
    counted = input.shape if include_batch_in_index else input.shape[1:]
    places = lax.iota(Targmax, math.prod(counted)).reshape(counted)
    return maximum(input, ways), of_winners(input, jnp.broadcast_to(places, input.shape), ways)


@gradient(_max_pool_with_argmax)
def _(dy, _, input, *, ksize, strides, padding):
    pool, to_input, _ = MAXIMA[2]
    geometry = _channels_last(ksize, strides, padding)
    return to_input(input, pool(input, **geometry), dy, **geometry)


# ---------------------------------------------------------------------------------------------------------------------
# Means


def _divided(x, ways):
    """Divide each element of `x`, one for each stop of the window, by the number of its cells outside of the padding."""
    counts = np.ones((1,) * x.ndim, x.dtype)
    for way in ways:
        stops = (np if xla.is_number(way.out) else jnp).arange(way.out)  # symbols of an exported program are none of NumPy's
        places = [way.meets(i, stops) for i in range(way.extent)]
        along = sum([((place >= 0) & (place < way.size)).astype(x.dtype) for place in places])
        counts = counts * along.reshape([way.out if axis == way.axis else 1 for axis in range(x.ndim)])
    return divided(x, counts)


def _tile(ways):
    """Return whether the windows tile the image along all axes."""
    return False not in [way.tiles for way in ways]


def _average(x, ways):
    wider = wide(x)
    if _tile(ways):
        shape, split = [], []
        for axis, extent in enumerate(x.shape):
            way = next((way for way in ways if way.axis == axis), None)
            split += [len(shape) + 1] if way else []
            shape += [way.out, way.extent] if way else [extent]
        return mean_over(wider.reshape(shape), split).astype(x.dtype)
    total = over_windows(wider, jnp.zeros((), wider.dtype), lax.add, ways)
    return _divided(total, ways).astype(x.dtype)


def _to_all(dy, ways):
    """Add each element of `dy`, divided by the size of the window, to all cells of its window."""
    dx = _divided(wide(dy), ways)
    for way in ways:
        shape = (*dx.shape[: way.axis], way.size, *dx.shape[way.axis + 1 :])
        if way.tiles:
            dx = jnp.repeat(dx, way.extent, way.axis)
        else:
            dx = unviewed(lambda number, dx: dx, (dx,), [way], shape)
    return dx.astype(dy.dtype)


def _averages(types, rank):
    """Define a mean pool of `rank` spatial axes and its gradient; return the two functions."""
    infer = functools.partial(_pool_aval, rank, FLOATING)

    @op(types[0], infer=infer, flops=flops.pooling(-1, 0))
    def pool(value, *, ksize, strides, padding, explicit_paddings, data_format, dilations):
        return _average(value, _ways(value.shape, ksize, strides, padding, explicit_paddings, data_format, dilations))

    @op(types[1], infer=lambda grad, *, input_sizes, **geometry: aval(input_sizes, grad.dtype), flops=flops.pooling(0, 1))
    def to_input(grad, *, input_sizes, ksize, strides, padding, explicit_paddings, data_format, dilations):
        return _to_all(grad, _ways(input_sizes, ksize, strides, padding, explicit_paddings, data_format, dilations))

    @gradient(pool)
    def _(dy, value, **geometry):
        shape = extents_of(value)
        ways = _ways(shape, **geometry)
        if _tile(ways):
            once = sum([way.out for way in ways]) == len(ways)
            source = dy if once else broadcast_source(dy, [way.axis for way in ways])
            if source is not None:  # a broadcast cotangent remains a broadcast
                return _broadcast_to(under_broadcast(lambda dy: dy / cells(ways), source), shape=shape)
        return to_input(dy, input_sizes=shape, **geometry)

    @gradient(to_input)
    def _(dx, *, input_sizes, **geometry):
        return pool(dx, **geometry)

    return pool, to_input


_mean_types = {2: ("AvgPool", "AvgPoolGrad"), 3: ("AvgPool3D", "AvgPool3DGrad")}
MEANS = {rank: _averages(types, rank) for rank, types in _mean_types.items()}

# ---------------------------------------------------------------------------------------------------------------------
# The public functions


def _over_one_axis(pool, input, ksize, strides, padding, data_format, dilations=None):
    """Pool over one axis by a pool over two, of which the first has extent 1."""
    attributes, axis = flat_geometry(strides, padding, data_format, dilations, ksize)
    return squeeze(pool(expand_dims(tensor(input), axis), **attributes), axis)


def _named(padding):
    """Raise TypeError unless the padding is a name: explicit padding is not supported here."""
    if not isinstance(padding, str):
        raise TypeError(f"Expected string for argument 'padding' not {padding!r}: give 'SAME' or 'VALID', or use tf.pad first.")
    return padding


def _spatial_rank(input):
    rank = tensor(input).ndim - 2
    if not 1 <= rank <= 3:
        raise ValueError(f"`input.shape.rank` must be 3, 4 or 5. Received: input.shape={tensor(input).shape} of rank {rank + 2}.")
    return rank


@public
def max_pool(input, ksize, strides, padding, data_format=None, name=None) -> Tensor:
    """Apply `max_pool1d`, `max_pool2d` or `max_pool3d`, by the rank of `input`.

    >>> tf.nn.max_pool(tf.reshape(tf.range(4.0), [1, 2, 2, 1]), 2, 2, "VALID").numpy().ravel()
    array([3.], dtype=float32)
    """
    pools = max_pool1d, max_pool2d, max_pool3d
    rank = _spatial_rank(input)
    if rank == 3 and not isinstance(padding, str):
        raise ValueError(f"Explicit padding is not supported with an input tensor of rank 5. Received: padding={padding}")
    return pools[rank - 1](input, ksize, strides, padding, data_format)


@public
def max_pool1d(input, ksize, strides, padding, data_format="NWC", name=None) -> Tensor:
    """Return the maximum over a window moving over one axis: `input` [batch, width, channels]; see `max_pool2d`.

    >>> tf.nn.max_pool1d(tf.reshape(tf.range(4.0), [1, 4, 1]), 2, 2, "VALID").numpy().ravel()
    array([1., 3.], dtype=float32)
    """
    return _over_one_axis(MAXIMA[2][0], input, ksize, strides, padding, data_format)


@public
def max_pool2d(input, ksize, strides, padding, data_format="NHWC", name=None) -> Tensor:
    """Return the maximum over a window moving over two axes: `input` [batch, height, width, channels].

    `ksize` and `strides` are one int, two, or four. `padding` is "SAME", "VALID", or four pairs; padding never wins. The
    result is [batch, rows, columns, channels] in the dtype of `input`, floating or integer. A NaN in the window makes the
    maximum NaN. The gradient goes to the first maximum in row-major order. The extent of a window over channels alone must
    divide their number.

    >>> image = tf.reshape(tf.range(4.0), [1, 2, 2, 1])
    >>> tf.nn.max_pool2d(image, 2, 2, "VALID").numpy().ravel()
    array([3.], dtype=float32)
    """
    attributes = geometry(2, strides, padding, data_format, ksize=ksize)
    if data_format in (None, CHANNELS_LAST[2]) and attributes["ksize"][-1] != 1:
        return _over_channels(tensor(input, hint="float32"), attributes["ksize"], attributes["strides"])
    return MAXIMA[2][0](input, **attributes)


def _over_channels(input, ksize, strides):
    """Return the maximum over groups of channels, as a pool over the height of one-pixel images."""
    window, channels = ksize[-1], input.node.aval.shape[-1]
    if ksize[:-1] != (1, 1, 1) or strides != ksize or channels % window:
        raise UnimplementedError.saying(
            "MaxPooling supports exactly one of pooling across depth or pooling across width/height, and depthwise max pooling "
            f"a window that is the stride and divides the depth: ksize={list(ksize)}, strides={list(strides)}, depth {channels}."
        )
    groups = {"ksize": (1, window, 1, 1), "strides": (1, window, 1, 1)}
    pooled = MAXIMA[2][0](reshape(input, [-1, channels, 1, 1]), **_channels_last(padding="VALID", **groups))
    return reshape(pooled, [*extents_of(input)[:-1], channels // window])


@public
def max_pool3d(input, ksize, strides, padding, data_format="NDHWC", name=None) -> Tensor:
    """Return the maximum over a window moving over three axes: `input` [batch, depth, height, width, channels].

    See `max_pool2d`; `padding` is "SAME" or "VALID".

    >>> print(tf.nn.max_pool3d(tf.ones([1, 4, 4, 4, 1]), 2, 2, "VALID").shape)
    (1, 2, 2, 2, 1)
    """
    return MAXIMA[3][0](input, **geometry(3, strides, _named(padding), data_format, ksize=ksize))


@public
def max_pool_with_argmax(
    input,
    ksize,
    strides,
    padding,
    data_format="NHWC",
    output_dtype=dtypes.int64,
    include_batch_in_index=False,
    name=None,
):
    """Return `(max_pool2d, indices)`, with the indices of the maxima into each flattened image, or into the flattened batch.

    `indices` (int64 or int32) are (h · width + w) · channels + c, plus the index of the image's first element with
    `include_batch_in_index`.

    >>> x = tf.reshape(tf.range(16.0), [1, 4, 4, 1])
    >>> print(tf.nn.max_pool_with_argmax(x, 2, 2, "VALID")[1].numpy().ravel())
    [ 5  7 13 15]
    """
    if data_format != "NHWC":
        raise ValueError(f"`data_format` values other than 'NHWC' are not supported. Received: data_format={data_format}")
    return _max_pool_with_argmax(
        input,
        ksize=sequence(ksize, 2, data_format, "ksize"),
        strides=sequence(strides, 2, data_format, "strides"),
        padding=_named(padding),
        Targmax=named_dtype(output_dtype, INDEX, "Targmax"),
        include_batch_in_index=bool(include_batch_in_index),
    )


@public
def avg_pool(input, ksize, strides, padding, data_format=None, name=None) -> Tensor:
    """Apply `avg_pool1d`, `avg_pool2d` or `avg_pool3d`, by the rank of `input`.

    >>> tf.nn.avg_pool(tf.reshape(tf.range(4.0), [1, 2, 2, 1]), 2, 2, "VALID").numpy().ravel()
    array([1.5], dtype=float32)
    """
    return (avg_pool1d, avg_pool2d, avg_pool3d)[_spatial_rank(input) - 1](input, ksize, strides, padding, data_format)


@public
def avg_pool1d(input, ksize, strides, padding, data_format="NWC", name=None) -> Tensor:
    """Return the mean over a window moving over one axis: `input` [batch, width, channels]; see `avg_pool2d`.

    >>> tf.nn.avg_pool1d(tf.reshape(tf.range(4.0), [1, 4, 1]), 2, 2, "VALID").numpy().ravel()
    array([0.5, 2.5], dtype=float32)
    """
    return _over_one_axis(MEANS[2][0], input, ksize, strides, _named(padding), data_format)


@public
def avg_pool2d(input, ksize, strides, padding, data_format="NHWC", name=None) -> Tensor:
    """Return the mean over a window moving over two axes: `input` [batch, height, width, channels].

    `ksize` and `strides` are one int, two, or four. `padding` is "SAME" or "VALID"; cells of the padding are not counted. The
    dtype is floating, and is kept.

    >>> image = tf.reshape(tf.range(4.0), [1, 2, 2, 1])
    >>> tf.nn.avg_pool2d(image, 2, 2, "VALID").numpy().ravel()
    array([1.5], dtype=float32)
    """
    return MEANS[2][0](input, **geometry(2, strides, _named(padding), data_format, ksize=ksize))


@public
def avg_pool3d(input, ksize, strides, padding, data_format="NDHWC", name=None) -> Tensor:
    """Return the mean over a window moving over three axes: `input` [batch, depth, height, width, channels].

    See `avg_pool2d`.

    >>> print(tf.nn.avg_pool3d(tf.ones([1, 4, 4, 4, 1]), 2, 2, "VALID").shape)
    (1, 2, 2, 2, 1)
    """
    return MEANS[3][0](input, **geometry(3, strides, _named(padding), data_format, ksize=ksize))


@public
def pool(input, window_shape, pooling_type, strides=None, padding="VALID", data_format=None, dilations=None, name=None) -> Tensor:
    """Return the maximum (`pooling_type="MAX"`) or mean ("AVG") over a window of `window_shape`, of one to three axes.

    `strides` and `dilations`, an entry for each spatial axis, cannot both be above 1; with dilations the padding is
    "VALID".

    >>> print(tf.nn.pool(tf.reshape(tf.range(4.0), [1, 4, 1]), [2], "MAX", strides=[2]).numpy().ravel())
    [1. 3.]
    """
    input, window = tensor(input), static_list(window_shape, "window_shape")
    rank = len(window)
    if not 1 <= rank <= 3:
        raise ValueError(f"`len(window_shape)` must be 1, 2, or 3. Received: window_shape={window_shape} of length {rank}")
    if input.ndim != rank + 2:
        raise ValueError(f"Shape {input.shape} must have rank {rank + 2}: window_shape={list(window)} has {rank} axes.")
    steps, rates = (static_list(value or (1,) * rank, "strides") for value in (strides, dilations))
    not_both(steps, rates)
    if padding == "SAME" and max(rates) > 1:
        raise ValueError(
            "pooling with 'SAME' padding is not implemented for `dilation_rate` > 1. Received: "
            f"padding={padding} and dilation_rate={list(rates)}"
        )
    if any(step > extent for step, extent in zip(steps, window, strict=True)):
        raise ValueError(
            "`strides` > `window_shape` not supported due to inconsistency between CPU and GPU implementations. "
            f"Received: strides={list(steps)} and window_shape={list(window)}"
        )
    if pooling_type not in ("MAX", "AVG"):
        raise ValueError(f"{rank}-D {pooling_type} pooling is not supported: pooling_type is 'MAX' or 'AVG'.")
    pools = MAXIMA if pooling_type == "MAX" else MEANS
    if rank == 1:
        return _over_one_axis(pools[2][0], input, window, steps, padding, data_format, rates)
    return pools[rank][0](input, **geometry(rank, steps, padding, data_format, rates, window))
