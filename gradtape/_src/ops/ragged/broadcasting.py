"""Broadcasting of the operands of an element-wise function to the same rows.

Axes of extent 1 are repeated, as for tensors. Ragged axes are not, even if each row has one element; two ragged operands must
have rows of the same lengths.
"""

import math

import numpy as np

from gradtape._src.core.base.errors import invalid
from gradtape._src.core.tensors.convert import is_tensor, tensor
from gradtape._src.core.tensors.tensor import extents_of
from gradtape._src.ops.array.gather import gather
from gradtape._src.ops.array.ragged import RaggedTensor, with_splits
from gradtape._src.ops.array.ragged_rows import inside, splits_of
from gradtape._src.ops.array.shape import reshape


class RaggedRows:
    """The rows of the result of an element-wise function."""

    def __init__(self, like=None, nested=None):
        self._like, self._nested = like, nested

    def wrapped(self, flat_values):
        """Create a RaggedTensor from innermost values in these rows."""
        return with_splits(flat_values, self._nested) if self._like is None else self._like.with_flat_values(flat_values)


def broadcast(operands):
    """Return `(innermost values of each operand, Rows)`. Numbers, strings and None are unchanged."""
    ragged = [x for x in operands if isinstance(x, RaggedTensor)]
    first = ragged[0]
    operands = [operand(x, first.dtype) for x in operands]
    if all(_is_scalar(x) or (isinstance(x, RaggedTensor) and _same_rows(x, first)) for x in operands):
        return [x.flat_values if isinstance(x, RaggedTensor) else x for x in operands], RaggedRows(like=first)
    rank = max(x.shape.rank for x in operands if not _is_scalar(x))
    depth = max(x.ragged_rank + rank - x.shape.rank for x in ragged)
    layouts = [None if _is_scalar(x) else _Layout(x, rank, depth) for x in operands]
    nested = _walk([layout for layout in layouts if layout is not None], depth)
    flats = [x if layout is None else layout.taken() for x, layout in zip(operands, layouts, strict=True)]
    return flats, RaggedRows(nested=nested)


def operand(x, dtype):
    """Convert lists and arrays to tensors of `dtype`, unless it is None. Numbers, strings and None are unchanged."""
    if isinstance(x, RaggedTensor) or not (is_tensor(x) or isinstance(x, (list, tuple, np.ndarray))):
        return x
    return tensor(x) if is_tensor(x) else tensor(x, None, dtype)


def _is_scalar(x):
    return not isinstance(x, RaggedTensor) and (not is_tensor(x) or x.shape.rank == 0)


def _same_rows(x, y):
    if x is y:
        return True
    if (x.ragged_rank, x.shape.rank) != (y.ragged_rank, y.shape.rank):
        return False
    if all(a._stated is b._stated for a, b in zip(x._levels, y._levels, strict=True)):
        return True
    return all(np.array_equal(a, b) for a, b in zip(x._nested, y._nested, strict=True))


class _Layout:
    """One operand as rows of `depth` axes; `lengths` has the extent of an axis, or the length of each row along it."""

    def __init__(self, x, rank, depth):
        nested = x._nested if isinstance(x, RaggedTensor) else []
        flat = x.flat_values if nested else x
        outer = [*[1] * (rank - x.shape.rank), *([len(nested[0]) - 1] if nested else [])]
        self.lengths = [*outer, *[np.diff(splits) for splits in nested], *extents_of(flat)[bool(nested) :]][: depth + 1]
        inner = list(extents_of(flat))[flat.ndim + depth + 1 - rank :]  # the axes of the operands' innermost tensors
        self._count = math.prod(extents_of(flat)[: flat.ndim - len(inner)])
        self._flat = reshape(flat, [self._count, *inner])
        self.at = np.zeros(1, np.int64)  # for each row of the result the operand's row

    def rows(self, axis):
        """Return the lengths of the operand's rows along an axis, for each row of the result so far."""
        lengths = self.lengths[axis]
        return lengths[self.at] if isinstance(lengths, np.ndarray) else np.full(len(self.at), lengths)

    def go(self, axis, wanted):
        """Go to the next axis, along which the rows of the result have the lengths `wanted`."""
        lengths = self.lengths[axis]
        if isinstance(lengths, np.ndarray):
            starts = splits_of(lengths)[:-1][self.at]
        else:
            starts = self.at * lengths
            if lengths == 1:
                self.at = np.repeat(starts, wanted)
                return
        self.at = inside(starts, wanted)

    def taken(self):
        """Return the innermost values in the order of the result."""
        same = len(self.at) == self._count and np.array_equal(self.at, np.arange(self._count))
        return self._flat if same else gather(self._flat, self.at)


def _walk(layouts, depth):
    """Visit all axes of the operands together; return the bounds of the result's rows along each ragged axis."""
    nested = []
    for axis in range(depth + 1):
        fixed = [x for x in layouts if isinstance(x.lengths[axis], np.ndarray) or x.lengths[axis] != 1]
        wanted = (fixed or layouts)[0].rows(axis)
        for other in fixed[1:]:
            if not np.array_equal(wanted, other.rows(axis)):
                raise invalid(
                    f"Condition x == y did not hold.\nUnable to broadcast: dimension size mismatch in dimension {axis}: the rows "
                    f"have the lengths {wanted.tolist()} and {other.rows(axis).tolist()}. Only an axis of a Tensor of extent 1 "
                    "is repeated."
                )
        for x in layouts:
            x.go(axis, wanted)
        if axis:
            nested.append(splits_of(wanted))
    return nested
