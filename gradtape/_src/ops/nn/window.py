"""The window that convolutions and pools move over the spatial axes of images: sizes, strides, padding."""

import itertools
import math
import operator
from typing import NamedTuple

import numpy as np

from gradtape._src.core.base import hooks
from gradtape._src.core.base.errors import invalid
from gradtape._src.core.platform import xla
from gradtape._src.core.platform.arrays import jnp, lax
from gradtape._src.core.tensors.convert import static_list
from gradtape._src.ops.array.shape import plain, reshape
from gradtape._src.ops.shapes import one_of

CHANNELS_LAST = {1: "NWC", 2: "NHWC", 3: "NDHWC"}
CHANNELS_FIRST = {1: "NCW", 2: "NCHW", 3: "NCDHW"}


class Sweep(NamedTuple):
    """The movement of a window along one axis: `out` stops, `stride` cells apart, over `size` cells after `low` of padding.

    The window has `extent` cells, `dilation` apart; they span `reach` cells of the axis.
    """

    axis: int
    size: int
    extent: int
    stride: int
    dilation: int
    low: int
    out: int

    @property
    def reach(self):
        """The number of cells from the window's first to its last."""
        return (self.extent - 1) * self.dilation + 1

    @property
    def span(self):
        """The number of cells from the first stop to the last, both included."""
        return xla.larger(0, (self.out - 1) * self.stride + 1)

    @property
    def padding(self):
        """(cells before, cells after) of padding with which the windows exactly cover the axis; after can be negative."""
        return self.low, self.span + self.reach - 1 - self.low - self.size

    @property
    def covered(self):
        """The Sweep over the axis after padding and cropping to the cells that the windows cover."""
        return self._replace(size=self.span + self.reach - 1, low=0)

    def meets(self, cell, stop):
        """Return the position on the axis of the window's `cell` at its `stop`; out of range in the padding."""
        return stop * self.stride + cell * self.dilation - self.low

    def inside(self, cell):
        """Return the range of stops, as (first, end), at which the window's `cell` is not in the padding."""
        if self.padding == (0, 0):
            return 0, self.out
        first = min(max(0, -(self.meets(cell, 0) // self.stride)), self.out)
        return first, min(max(first, (self.size - 1 - self.meets(cell, 0)) // self.stride + 1), self.out)

    @property
    def tiles(self):
        """Whether the windows cover each cell exactly once."""
        side_by_side = self.out == 1 or (self.extent == self.stride and self.out > 0)
        return side_by_side and self.dilation == 1 and not self.low and self.size == self.out * self.extent


def spatial_axes(data_format):
    """Return the spatial axes and the channel axis of an image, for a format such as `NHWC`."""
    channel = data_format.index("C")
    return tuple([axis for axis in range(1, len(data_format)) if axis != channel]), channel


def channels_last(data_format):
    """Return the permutation of the axes to channels last, and its inverse."""
    spatial, channel = spatial_axes(data_format)
    last = (0, *spatial, channel)
    return last, [last.index(axis) for axis in range(len(last))]


def sweeps(shape, extents, strides, padding, explicit_paddings, data_format, dilations, fits=True):
    """Return a Sweep for each spatial axis of images of `shape`; InvalidArgumentError if the window does not fit.

    `extents` are those of the window along the spatial axes; the other arguments have an entry for every axis. A window that is
    larger by less than a stride stops nowhere; where it `fits`, that is an error in a function, as in TensorFlow.
    """
    strict = fits and hooks.core.tracing()
    result = []
    for axis, extent in zip(spatial_axes(data_format)[0], extents, strict=True):
        size, stride, dilation = shape[axis], strides[axis], dilations[axis]
        reach = (extent - 1) * dilation + 1
        if padding == "SAME":
            out = -(-size // stride)
            missing = (out - 1) * stride + reach - size  # which is reach - stride at least
            low = (missing if reach >= stride else xla.larger(0, missing)) // 2
        else:
            low, high = explicit_paddings[2 * axis : 2 * axis + 2] if padding == "EXPLICIT" else (0, 0)
            room = size + low + high - reach + stride
            out = room // stride
            advice = f"The window is larger than axis {axis} of {plain(shape)}: use padding='SAME', or a smaller window."
            if strict and xla.surely(operator.lt, room, stride):
                raise invalid(f"Negative dimension size caused by subtracting {reach} from {size + low + high}. {advice}")
            if xla.surely(operator.le, room, -stride):
                raise invalid(
                    f"Computed output size would be negative: {-(-room // stride)} [input_size: {size + low + high}, "
                    f"effective_filter_size: {reach}, stride: {stride}]. {advice}"
                )
            out = xla.larger(0, out)
        result.append(Sweep(axis, size, extent, stride, dilation, low, out))
    return tuple(result)


def swept(shape, ways, channel, channels):
    """Return the shape of a convolution's or pool's result: the stops along each axis, and `channels`."""
    result = list(shape)
    result[channel] = channels
    for way in ways:
        result[way.axis] = way.out
    return tuple(result)


# ---------------------------------------------------------------------------------------------------------------------
# Arrays


def cells(ways):
    """Return the number of cells of the window."""
    return math.prod([way.extent for way in ways])


def positions(ways):
    """Yield the coordinates of the window's cells in row-major order."""
    return itertools.product(*[range(way.extent) for way in ways])


def views(x, ways, fill=0):
    """Yield for each cell of the window its elements at all stops, as a strided view of `x`; outside of `x` they are `fill`.

    Each view is padded separately, which costs no memory. Products of views are faster on an array that was `padded` first. An
    exported program with unknown extents pads `x` first, since the padding of a single view is not known.
    """
    if not all(xla.is_number(way.size) for way in ways):
        x, ways = padded(x, ways, fill)
    for cell in positions(ways):
        start, stop, stride, padding = [0] * x.ndim, list(x.shape), [1] * x.ndim, [(0, 0, 0)] * x.ndim
        for way, i in zip(ways, cell, strict=True):
            first, end = way.inside(i)
            empty = first == end
            start[way.axis] = 0 if empty else way.meets(i, first)
            stop[way.axis] = 0 if empty else way.meets(i, end - 1) + 1
            stride[way.axis] = way.stride
            padding[way.axis] = first, way.out - end, 0
        view = lax.slice(x, start, stop, stride)
        yield view if all(p == (0, 0, 0) for p in padding) else lax.pad(view, jnp.asarray(fill, x.dtype), padding)


def padded(x, ways, fill=0):
    """Pad `x` with `fill`, or crop it, to the cells that the windows cover; return it with the Sweeps over it."""
    padding = [(0, 0, 0)] * x.ndim
    for way in ways:
        padding[way.axis] = (*way.padding, 0)
    return lax.pad(x, jnp.asarray(fill, x.dtype), padding), [way.covered for way in ways]


def outside_padding(cell, ways, shape):
    """Return at which stops the window's `cell` is not in the padding: True for all, or an array of `shape`."""
    outside = True
    for way, i in zip(ways, cell, strict=True):
        first, end = way.inside(i)
        if (first, end) != (0, way.out):
            stop = lax.broadcasted_iota(jnp.int32, shape, way.axis)
            outside = outside & (stop >= first) & (stop < end)
    return outside


def winners(candidates, best, ways):
    """Return for each stop of the window the number of the first cell whose candidate equals `best`, or is NaN.

    `candidates` are arrays shaped like `best`, one for each cell. Cells in the padding do not win, even where all are −∞.
    """
    winner = jnp.full(best.shape, -1, jnp.int8 if cells(ways) < 127 else jnp.int32)
    numbered = list(enumerate(zip(candidates, positions(ways), strict=True)))
    for number, (candidate, cell) in reversed(numbered):
        won = ((candidate == best) | (candidate != candidate)) & outside_padding(cell, ways, best.shape)
        winner = jnp.where(won, jnp.asarray(number, winner.dtype), winner)
    return winner


def lowest(dtype):
    """Return the least value of a dtype: −∞, or the least integer."""
    return -np.inf if jnp.issubdtype(dtype, jnp.inexact) else np.iinfo(dtype).min


def unviewed(piece, arrays, ways, shape):
    """Apply the transpose of `views`: add `piece(cell's number, *arrays)` to the positions of its view, in an array of
    `shape`.

    `arrays` have an element for each stop of the window; where they are 0, `piece` must be 0. The pieces on each residue of
    the stride are summed at the resolution of the stops; then these sums are interleaved.
    """
    extents, before, padding = list(shape), [0] * len(shape), [(0, 0, 0)] * len(shape)
    for way in ways:
        extents[way.axis] = -(-(way.size + way.low) // way.stride)
        before[way.axis] = (way.reach - 1) // way.stride
        padding[way.axis] = before[way.axis], max(0, extents[way.axis] - way.out), 0
    if any(p != (0, 0, 0) for p in padding):
        arrays = [lax.pad(array, jnp.zeros((), array.dtype), padding) for array in arrays]
    sums = {}
    for number, cell in enumerate(positions(ways)):
        start, residues = [0] * len(shape), []
        for way, i in zip(ways, cell, strict=True):
            stops, residue = divmod(i * way.dilation, way.stride)
            start[way.axis] = before[way.axis] - stops
            residues.append(residue)
        end = [first + extent for first, extent in zip(start, extents, strict=True)]
        part = piece(number, *[lax.slice(array, start, end) for array in arrays])
        key = tuple(residues)
        sums[key] = sums[key] + part if key in sums else part
    nothing = jnp.zeros_like(part)
    parts = [sums.get(key, nothing) for key in itertools.product(*[range(way.stride) for way in ways])]
    for way in reversed(ways):
        parts = [_interleaved(parts[i : i + way.stride], way.axis) for i in range(0, len(parts), way.stride)]
    lows = {way.axis: way.low for way in ways}
    start = [lows.get(axis, 0) for axis in range(len(shape))]
    return lax.slice(parts[0], start, [first + extent for first, extent in zip(start, shape, strict=True)])


def _interleaved(parts, axis):
    """Return the elements of all parts in turn along `axis`."""
    if len(parts) == 1:
        return parts[0]
    shape = parts[0].shape
    return jnp.stack(parts, axis + 1).reshape(*shape[:axis], shape[axis] * len(parts), *shape[axis + 1 :])


# ---------------------------------------------------------------------------------------------------------------------
# Arguments of public functions


def sequence(value, count, data_format, name):
    """Expand an argument with 1 entry, or one for each of `count` spatial axes, to one for every axis."""
    values = (1,) if value is None else static_list(value, name)
    if len(values) == count + 2:
        return values
    if len(values) == 1:
        values *= count
    elif len(values) != count:
        raise ValueError(
            f"{name} should be of length 1, {count} or {count + 2}. Received: {name}={list(values)} of length {len(values)}"
        )
    return (1, 1, *values) if data_format.startswith("NC") else (1, *values, 1)


def paddings(padding, length):
    """Convert the `padding` argument, a name or a list of pairs, to (name, numbers)."""
    if isinstance(padding, str):
        if padding == "EXPLICIT":
            raise ValueError("'EXPLICIT' is not a valid value for `padding`. To use explicit padding, `padding` must be a list.")
        return padding, ()
    if not isinstance(padding, (list, tuple)):
        raise TypeError(f"Expected string for argument 'padding' not {padding!r}: give 'SAME', 'VALID', or a list of pairs.")
    numbers = []
    for index, pair in enumerate(padding):
        if not isinstance(pair, (list, tuple)) or len(pair) != 2:
            have = f"of size {len(pair)}" if isinstance(pair, (list, tuple)) else f"of type {type(pair)}"
            raise ValueError(
                "When `padding` is a list, each element of `padding` must be a list/tuple of size 2. Received: "
                f"padding={padding} with element at index {index} {have}"
            )
        numbers.extend(static_list(pair, "padding"))
    if len(padding) != length:
        raise ValueError(
            f"When padding is a list, it must be of size {length}. Received: padding={padding} of size {len(padding)}"
        )
    return "EXPLICIT", tuple(numbers)


def check_paddings(padding, explicit_paddings, data_format):
    """Raise InvalidArgumentError unless the padding is valid for a window over spatial axes."""
    one_of(padding, ("SAME", "VALID", "EXPLICIT"), "padding")
    if padding != "EXPLICIT":
        return
    if any(cells < 0 for cells in explicit_paddings):
        raise invalid(f"All elements of explicit_paddings must be nonnegative: received {list(explicit_paddings)}.")
    moved = spatial_axes(data_format)[0]
    if any(explicit_paddings[2 * a] or explicit_paddings[2 * a + 1] for a in range(len(data_format)) if a not in moved):
        raise invalid(
            "Nonzero explicit padding in the batch or depth dimensions is not supported: received "
            f"{list(explicit_paddings)} for {data_format}. Pad with tf.pad first."
        )


def over_batches(x, rank, function):
    """Apply `function`, which takes images of `rank` axes, to images with several batch axes: these are merged, and restored."""
    shape = x.node.aval.shape
    if len(shape) <= rank:
        return function(x)
    kept = len(shape) - rank + 1
    result = function(reshape(x, (math.prod(shape[:kept]), *shape[kept:])))
    return reshape(result, shape[:kept] + result.node.aval.shape[1:])


def not_both(strides, dilations):
    """Raise ValueError if both have an entry above 1, or if an entry is below 1."""
    for what, values in (("strides", strides), ("dilation_rate", dilations)):
        if min(values) < 1:
            raise ValueError(f"all values of `{what}` must be positive. Received: {what}={list(values)}")
    if max(strides) > 1 and max(dilations) > 1:
        raise ValueError(
            "`strides > 1` not supported in conjunction with `dilation_rate > 1`. Received: "
            f"strides={list(strides)} and dilation_rate={list(dilations)}"
        )


def flat_format(data_format):
    """Return `(NWC or NCW, position of the extra axis, two-dimensional format)` for images with one spatial axis.

    ValueError for other formats.
    """
    if data_format in ("NCW", "NCHW"):
        return "NCW", 2, "NCHW"
    if data_format in (None, "NWC", "NHWC"):
        return "NWC", 1, "NHWC"
    raise ValueError(f"`data_format` must be 'NWC' or 'NCW'. Received: data_format={data_format}")


def geometry(rank, strides, padding, data_format, dilations=None, ksize=None, called="strides"):
    """Convert the arguments of a public convolution, or with a `ksize` of a pool, to attributes of its op.

    In messages the strides are `called` so.
    """
    data_format = CHANNELS_LAST[rank] if data_format is None else data_format
    padding, numbers = paddings(padding, rank + 2)
    size = {} if ksize is None else {"ksize": sequence(ksize, rank, data_format, "ksize")}
    return size | {
        "strides": sequence(strides, rank, data_format, called),
        "padding": padding,
        "explicit_paddings": numbers,
        "data_format": data_format,
        "dilations": sequence(dilations, rank, data_format, "dilations"),
    }


def flat_geometry(strides, padding, data_format, dilations=None, ksize=None, called="strides"):
    """Return the `geometry` of a window over one axis as one over two, and where the axis of extent 1 goes."""
    data_format, axis, wide_format = flat_format(data_format)
    found = geometry(1, strides, padding, data_format, dilations, ksize, called)
    found |= {name: widened(found[name], axis) for name in ("ksize", "strides", "dilations") if name in found}
    numbers = found["explicit_paddings"]
    found["explicit_paddings"] = (*numbers[: 2 * axis], 0, 0, *numbers[2 * axis :]) if numbers else ()
    return found | {"data_format": wide_format}, axis


def widened(values, axis):
    """Return `values` with one more entry, 1, at the index `axis`."""
    return (*values[:axis], 1, *values[axis:])


def stacked_views(x, ways):
    """Return the `views` of a `padded` array, with the axes of the window in front.

    They are taken axis by axis: 14 slices for a window of 7 × 7, compiled in 0.5 s. The 49 views take 2.7 s.
    """
    for place, way in enumerate(ways):
        axis, last = way.axis + place, way.out - 1
        slices = [lax.slice_in_dim(x, way.meets(i, 0), way.meets(i, last) + 1, way.stride, axis) for i in range(way.extent)]
        x = jnp.stack(slices, place)
    return x
