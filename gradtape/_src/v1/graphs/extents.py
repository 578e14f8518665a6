"""True extents for provisional ones: what an op's attributes are when a graph runs."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from gradtape._src.control.bounded_scan import SCAN, Scan
from gradtape._src.core import engine
from gradtape._src.core.aval import LARGE, PROVISIONAL, Aval
from gradtape._src.core.errors import invalid
from gradtape._src.core.op import Attributes, Op
from gradtape._src.core.program import NUMBER, Node
from gradtape._src.ops.array.joining import split_sizes
from gradtape._src.v1.graphs.kinds import Extent

Pairs = dict[int, int | None]  # provisional extent → true one; None: it stands for several
COEFFICIENT = LARGE // 2
_LONG = re.compile(r"\d{8,}")


def open_ints(value: Any) -> bool:
    """Return whether an attribute's value may hold what is only known when the graph runs."""
    if type(value) is tuple:
        return any(map(open_ints, value))
    return isinstance(value, (int, np.integer)) and (type(value) is Extent or int(value) >= LARGE)


def pairs_of(before: Sequence[Any], after: Sequence[Any], into: Pairs | None = None) -> Pairs:
    """Return the true extents of the provisional ones."""
    pairs: Pairs = {} if into is None else into
    for old, new in zip(before, after, strict=True):
        if isinstance(old, tuple) or not old.large or old.ndim != new.ndim:
            continue
        for a, b in zip(old.shape, new.shape, strict=True):
            if a >= LARGE:
                pairs[a] = b if pairs.get(a, b) == b else None
    return pairs


def decoded(
    op: Op,
    attrs: Attributes,
    before: Sequence[Aval],
    after: Sequence[Aval],
    everywhere: Pairs,
    extent: Callable[[Extent], int],
) -> Attributes:
    """Return the attributes of `op` on inputs of the Avals `after`, which was recorded with `attrs` on inputs `before`.

    `everywhere` has what the extents of the whole graph are, `extent` finds the value of an int that knows its tensor.
    """
    if not any(map(open_ints, attrs)):
        return attrs
    pairs = pairs_of(before, after)
    if op.type in ("StridedSlice", "Slice"):
        attrs = _taken(op.type, attrs, before[0], after[0])
        if not any(map(open_ints, attrs)):
            return attrs
    if op.type == "GatherV2":
        axis, batch_dims, _ = attrs
        return (axis, batch_dims, after[0].shape[axis])
    if op is SCAN and (rows := Scan(*attrs).rows(after)) is not None:
        attrs = Scan(*attrs)._replace(length=rows)
    if op.type == "SplitV":
        sizes, axis = attrs
        true = [extent(size) if type(size) is Extent else on_axis(size, axis, before[0], after[0]) for size in sizes]
        return (split_sizes(true, after[0].shape[axis]), axis)
    if op.type == "Reshape":
        return (_reshaped(attrs[0], before[0], after[0], pairs, everywhere, extent),)

    def one(value: Any, axis: int | None, length: int) -> Any:
        if type(value) is tuple:
            return tuple([one(v, i, len(value)) for i, v in enumerate(value)])
        if type(value) is Extent:
            return extent(value)
        if type(value) is not int or value < LARGE:
            return value
        if axis is not None:  # what stands at the same axis of an input, counted from the right as broadcasting does
            for old, new in zip(before, after, strict=True):
                place = axis - length + old.ndim
                if place >= 0 and old.ndim == new.ndim and old.shape[place] == value:
                    return new.shape[place]
        found = resolved(value, pairs, everywhere)
        if found is None:
            raise _ambiguous(op)
        return found

    return tuple([one(value, None, 0) for value in attrs])


def on_axis(value: int, axis: int, before: Aval, after: Aval) -> int:
    """Return the true value of an int that was computed from the extent of one axis."""
    pairs: Pairs = {before.shape[axis]: after.shape[axis]}
    found = resolved(value, pairs, pairs)
    return value if found is None else found


def _taken(type_: str, attrs: Attributes, before: Aval, after: Aval) -> Attributes:
    """Return the window of a slice: each of its sizes comes from the axis on which it is."""
    axes, sizes, *rest = attrs
    true = tuple([on_axis(size, a, before, after) if type(size) is int else size for a, size in enumerate(sizes)])
    if type_ == "Slice":
        return (axes, true)
    strides, shape = rest
    counts = iter([-(-new // abs(s)) for old, new, s in zip(sizes, true, strides, strict=True) if -(-old // abs(s)) >= LARGE])
    return (axes, true, strides, tuple([next(counts, e) if e >= LARGE else e for e in shape]))


def within(attrs: Attributes, inputs: list[Node]) -> tuple[Attributes, list[Node]]:
    """Return a slice with numbers for bounds, cut down to the extents that there are: `x[:10]` of three rows is three rows."""
    axes, sizes, strides, shape = attrs
    extents = inputs[0].aval.shape
    begins = dict(zip(axes, inputs[1:], strict=True))
    if any(n.index != NUMBER for n in begins.values()):
        return attrs, inputs
    new, starts = list(sizes), dict(begins)
    for a, (size, extent) in enumerate(zip(sizes, extents, strict=True)):
        first = int(begins[a].value) if a in begins else 0
        low, high = [min(max(bound, 0), extent) for bound in (first, first + size)]
        new[a] = high - low
        if a in begins:
            starts[a] = engine.number(low, begins[a].aval.dtype)
    if new == list(sizes):
        return attrs, inputs
    result, place = list(shape), 0
    for before, after, stride in zip(sizes, new, strides, strict=True):
        count = -(-before // abs(stride))
        if count == 1:  # it may be an index, which has no axis in the result
            continue
        while result[place] != count:
            place += 1
        result[place] = -(-after // abs(stride))
        place += 1
    return (axes, tuple(new), strides, tuple(result)), [inputs[0], *[starts[a] for a in axes]]


def resolved(value: int, pairs: Pairs, everywhere: Pairs) -> int | None:
    """Return the true value of a provisional int; None if it may stand for several. An int that is only large is itself."""
    if pairs.get(value) is not None:
        return pairs[value]
    coefficients = _coefficients(value)
    if coefficients is None:
        known = everywhere.get(value, value)
        return known
    unit = pairs.get(PROVISIONAL)
    if unit is None and PROVISIONAL not in pairs:
        own = _unit(pairs)
        unit = everywhere.get(PROVISIONAL) if own is None else own
    if unit is None:
        return None
    return sum([c * unit**power for power, c in enumerate(coefficients)])


def _unit(pairs: Pairs) -> int | None:
    """Return the provisional extent's true value, from extents that were computed from it, as where a list was put behind a
    batch.
    """
    found = set()
    for before, after in pairs.items():
        coefficients = _coefficients(before) if before >= LARGE else None
        if after is not None and coefficients is not None and len(coefficients) == 2:
            found.add((after - coefficients[0]) // coefficients[1])
    return found.pop() if len(found) == 1 else None


def _coefficients(value: int) -> list[int] | None:
    """Return `value` as a polynomial in the provisional extent with small coefficients; None if it is none."""
    found = []
    while value:
        digit = value % PROVISIONAL
        if digit > PROVISIONAL // 2:
            digit -= PROVISIONAL
        if abs(digit) > COEFFICIENT:
            return None
        found.append(digit)
        value = (value - digit) // PROVISIONAL
    return found if len(found) > 1 else None


def spoken(error: BaseException) -> None:
    """Write ? into an error's message where a number stands for an extent that is not known."""

    def plain(text: Any) -> Any:
        return _LONG.sub(lambda found: "?" if _coefficients(int(found[0])) else found[0], text) if isinstance(text, str) else text

    if _LONG.search(str(error)):
        error.args = tuple(map(plain, error.args))
        if hasattr(error, "message"):
            error.message = plain(error.message)


def _reshaped(
    shape: tuple[int, ...],
    before: Aval,
    after: Aval,
    pairs: Pairs,
    everywhere: Pairs,
    extent: Callable[[Extent], int],
) -> tuple[int, ...]:
    """Return the target of a reshape: one extent that is not known follows from the number of elements."""
    result = [extent(e) if type(e) is Extent else e for e in shape]
    unknown = [axis for axis, e in enumerate(result) if e >= LARGE and e == shape[axis] and type(shape[axis]) is not Extent]
    if len(unknown) > 1:
        sources = [new for old, new in zip(before.shape, after.shape, strict=False) if old == PROVISIONAL]
        plain = [axis for axis in unknown if result[axis] == PROVISIONAL]
        if len(plain) == len(sources):  # they keep their order
            for axis, true in zip(plain, sources, strict=True):
                result[axis] = true
                unknown.remove(axis)
    if len(unknown) > 1:
        for axis in list(unknown[1:]):
            found = resolved(result[axis], pairs, everywhere)
            if found is not None:
                result[axis] = found
                unknown.remove(axis)
    if len(unknown) > 1:
        raise invalid("A reshape of a tensor with several unknown extents cannot tell which is which: give it tf.shape(x)[…].")
    if unknown:
        rest = math.prod([e for axis, e in enumerate(result) if axis != unknown[0]])
        if rest and after.size % rest:
            raise invalid(
                f"Input to reshape is a tensor with {after.size} values, but the requested shape requires a multiple of {rest} "
                "[Op:Reshape]"
            )
        result[unknown[0]] = after.size // rest if rest else 0
    return tuple(result)


def _ambiguous(op: Op) -> Exception:
    return invalid(
        f"{op.type} depends on an unknown extent, and several tensors that were fed have different ones. Compute the shape with "
        f"tf.shape, or give the placeholders their shapes. [Op:{op.type}]"
    )
