"""Shape and dtype rules that many ops share."""

import numpy as np

from gradtape._src.core.aval import aval
from gradtape._src.core.errors import invalid

BOOL = np.dtype(bool)


def same(x, *others, **attributes):
    """The result is like the first input."""
    return x


def broadcast_shapes(a, b):
    """The shape that two shapes broadcast to (tuples); InvalidArgumentError if they do not."""
    if a == b:
        return a
    if len(a) < len(b):
        a = (1,) * (len(b) - len(a)) + a
    elif len(b) < len(a):
        b = (1,) * (len(a) - len(b)) + b
    shape = []
    for m, n in zip(a, b, strict=True):
        if m != n and m != 1 and n != 1:
            raise invalid(
                f"Incompatible shapes: {_plain(a)} vs. {_plain(b)}: extents must be equal or 1, counted from the last axis. "
                "Reshape, transpose or expand_dims one side."
            )
        shape.append(n if m == 1 else m)
    return tuple(shape)


def _plain(shape):
    return f"[{','.join(map(str, shape))}]"


def broadcast(x, y, **attributes):
    """Two inputs broadcast against each other, the dtype stays."""
    return x if x is y else aval(broadcast_shapes(x.shape, y.shape), x.dtype)


def compare(x, y, **attributes):
    """Two inputs broadcast against each other, the result is bool."""
    return aval(broadcast_shapes(x.shape, y.shape), BOOL)


def predicate(x, **attributes):
    """One input, the result is bool."""
    return aval(x.shape, BOOL)


def axes_of(axis, rank, what="axis"):
    """`axis` (None, int, or ints) as a sorted tuple of axes ≥ 0; InvalidArgumentError outside of [-rank, rank)."""
    if axis is None:
        return tuple(range(rank))
    axes = (axis,) if isinstance(axis, int) else axis
    result = []
    for a in axes:
        if not -rank <= a < rank:
            raise invalid(
                f"Invalid reduction dimension ({a} for input with {rank} dimension(s)): {what} must be in "
                f"[{-rank}, {rank - 1}]."
            )
        result.append(a % rank)
    if len(set(result)) != len(result):
        raise invalid(f"Invalid reduction arguments: {what} {list(axes)} contains a duplicate: each axis may be named once.")
    return tuple(sorted(result))


def axis_of(axis, rank, what="axis"):
    """One axis as an int ≥ 0; InvalidArgumentError outside of [-rank, rank)."""
    if not -rank <= axis < rank:
        raise invalid(f"{what} {axis} is out of range for a tensor of rank {rank}: it must be in [{-rank}, {rank - 1}].")
    return axis % rank
