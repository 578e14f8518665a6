"""The kernels of maximum pools: maxima over windows, and scattering to and gathering from their positions."""

import functools

import jax
import numpy as np

from gradtape._src.core.platform import xla
from gradtape._src.core.platform.arrays import at, jnp, lax
from gradtape._src.core.platform.lowerings import lowered, lowering
from gradtape._src.ops.nn.window import cells, lowest, padded, unviewed, views, winners

FEW_CELLS = 16  # largest window, in cells, that is computed from a strided view per cell


def over_windows(arrays, starts, reduction, ways):
    """Apply `lax.reduce_window` to an array, or a tuple of them, along `ways`."""
    rank = jax.tree.leaves(arrays)[0].ndim
    if not all(xla.is_number(way.size) for way in ways):  # JAX pads by symbols, but reduces windows by numbers only
        arrays = jax.tree.map(lambda array, start: padded(array, ways, start)[0], arrays, starts)
        ways = [way.covered for way in ways]
    window, strides, padding, dilation = [1] * rank, [1] * rank, [(0, 0)] * rank, [1] * rank
    for way in ways:
        window[way.axis], strides[way.axis], dilation[way.axis] = way.extent, way.stride, way.dilation
        padding[way.axis] = way.padding
    return lax.reduce_window(arrays, starts, reduction, window, strides, padding, window_dilation=dilation)


def _stages(ways):
    """Return the windows to apply in turn: a small window as a whole, a large one axis by axis, which has the same maximum.

    The last axis comes first, so that the first of equal elements in row-major order wins in both cases.
    """
    return [ways] if cells(ways) <= FEW_CELLS else [[way] for way in reversed(ways)]


def maximum(x, ways):
    for stage in _stages(ways):
        x = best(x, ways=stage)
    return x


def to_winners(x, y, dy, ways):
    """Scatter each element of `dy` to the position in `x` of the corresponding maximum in `y`."""
    stages = _stages(ways)
    inputs = [x]
    for stage in stages[:-1]:
        inputs.append(best(inputs[-1], ways=stage))
    for stage, before, after in reversed(list(zip(stages, inputs, [*inputs[1:], y], strict=True))):
        dy = put(before, after, dy, ways=stage)
    return dy


def to_all_equal(x, y, dy, ways):
    """Add each element of `dy` to all elements of its window in `x` that equal the maximum in `y`."""
    inputs = [x]
    for way in reversed(ways[1:]):
        inputs.append(best(inputs[-1], ways=[way]))
    for way, before, after in zip(ways, reversed(inputs), [y, *reversed(inputs[1:])], strict=True):
        dx = jnp.zeros_like(before)
        for cell, view in enumerate(views(before, [way], lowest(x.dtype))):
            padding = [(0, 0, 0)] * x.ndim
            first = way.meets(cell, 0)
            padding[way.axis] = first, way.size - first - way.span, way.stride - 1
            equal = jnp.where(view == after, dy, jnp.zeros_like(dy))
            dx = dx + lax.pad(equal, jnp.zeros((), dy.dtype), padding)
        dy = dx
    return dy


def of_winners(x, values, ways):
    """Return the entries of `values`, shaped like `x`, at the positions of the maxima."""
    for stage in _stages(ways):
        y = best(x, ways=stage)
        x, values = y, pick(x, y, values, ways=stage)
    return values


# Kernels of one stage. A small window uses strided views; a large one uses `reduce_window` on pairs of element and position.


@lowered("the maxima of windows")
def best(x, *, ways):
    return functools.reduce(jnp.maximum, views(x, ways, lowest(x.dtype)))


def _best_of_many(x, *, ways):
    return over_windows(x, jnp.asarray(lowest(x.dtype), x.dtype), lax.max, ways)


def _winners(x, y, ways):
    """Return the winners among the views of a padded image. This takes half the time of padding each view."""
    return winners(views(*padded(x, ways, lowest(x.dtype))), y, ways)


@lowered("what is put at the places of maxima")
def put(x, y, dy, *, ways):
    def part(number, winner, dy):
        return jnp.where(winner == number, dy, jnp.zeros_like(dy))

    return unviewed(part, (_winners(x, y, ways), dy), ways, x.shape)


def _put_by_place(x, y, dy, *, ways):
    (way,) = ways
    index = [lax.broadcasted_iota(jnp.int32, y.shape, axis) for axis in range(y.ndim)]
    index[way.axis] = _winning_places(x, way)
    return at(jnp.zeros_like(x))[tuple(index)].add(dy)


@lowered("what is picked at the places of maxima")
def pick(x, y, values, *, ways):
    winner, chosen = _winners(x, y, ways), jnp.zeros(y.shape, values.dtype)
    for number, view in enumerate(views(values, ways)):
        chosen = jnp.where(winner == number, view, chosen)
    return chosen


def _pick_by_place(x, y, values, *, ways):
    (way,) = ways
    return jnp.take_along_axis(values, _winning_places(x, way), way.axis)


def _winning_places(x, way):
    """Return for each stop of a window over one axis the position on that axis of its first maximum, or NaN."""

    def better(first, second):
        (x, i), (y, j) = first, second
        earlier = j < i
        second_wins = (y > x) | ((y == x) & earlier) | ((y != y) & ((x == x) | earlier))
        return jnp.where(second_wins, y, x), jnp.where(second_wins, j, i)

    places = lax.broadcasted_iota(jnp.int32, x.shape, way.axis)
    nothing = jnp.asarray(lowest(x.dtype), x.dtype), jnp.int32(np.iinfo(np.int32).max)
    return over_windows((x, places), nothing, better, [way])[1]


for _of, _rule in ((best, _best_of_many), (put, _put_by_place), (pick, _pick_by_place)):
    lowering(
        _of,
        when=lambda *arrays, ways: cells(ways) > FEW_CELLS,
        rule=_rule,
        because="a window of many cells, over one axis: too many views of the image",
    )
