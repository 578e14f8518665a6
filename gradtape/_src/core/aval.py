"""Abstract values: shape and dtype of a value that has not been computed."""

from __future__ import annotations

import math
from collections.abc import Container, Iterable, Sequence
from typing import Any

import numpy as np

from gradtape._src.core.dtypes import BY_NUMPY, DType, as_dtype
from gradtape._src.core.errors import NeedsValues, invalid
from gradtape._src.core.shape import PROVISIONAL as PROVISIONAL, TensorShape, provisional as provisional

SHAPED_BY_RUNS = "a Python function whose results have shapes that no TensorSpec in Tout states"
LARGE = 1 << 24  # what is computed from a provisional extent is larger


class Aval:
    """Shape and dtype. Interned: equal avals are the same object, so a table of them hashes by identity.

    `shape` is a tuple of ints, `dtype` NumPy's dtype, `type` gradtape's `DType`. `inexact` tells whether a gradient can flow,
    `large` whether an extent may stand for an unknown one (in a graph).
    """

    __slots__ = ("dtype", "inexact", "large", "ndim", "shape", "size", "tensor_shape", "type")
    shape: tuple[int, ...]
    dtype: np.dtype
    type: DType
    ndim: int
    size: int
    inexact: bool
    large: bool
    tensor_shape: TensorShape

    @property
    def open_shape(self) -> TensorShape:
        """The shape as a graph shows it: None for an extent that is not known."""
        return TensorShape.of(tuple([None if extent >= LARGE else extent for extent in self.shape]))

    def __repr__(self) -> str:
        return f"{self.type.name}{list(self.shape)}"


_interned: dict[tuple[Any, Any], Aval] = {}


def aval(shape: Iterable[int], dtype: np.dtype) -> Aval:
    """Return the Aval of `shape` (any sequence of ints) and `dtype` (a NumPy dtype); InvalidArgumentError if its size
    overflows.
    """
    key = (shape, dtype)
    try:
        return _interned[key]
    except (KeyError, TypeError):
        pass
    shape = tuple([int(extent) for extent in shape])
    new = Aval()
    new.shape, new.ndim, new.size = shape, len(shape), math.prod(shape)
    if new.size * np.dtype(dtype).itemsize >= 1 << 63 and not any(map(provisional, shape)):  # XLA would end the process
        raise invalid(f"Shape [{','.join(map(str, shape))}] would have more than 2**63 - 1 elements or bytes")
    new.type = BY_NUMPY.get(dtype) or as_dtype(dtype)
    new.dtype = new.type.numpy
    new.inexact = new.type.inexact
    new.tensor_shape = TensorShape.of(shape)
    new.large = any(extent >= LARGE for extent in shape)
    new = _interned.setdefault((shape, new.dtype), new)
    return new


class Unshaped(Aval):
    """The dtype of a value in a function whose shape is known when the function runs. To ask for the shape is a NeedsValues.

    So what computes with such a value runs as eager code; a function may return it, or give it to another Python function.
    """

    __slots__ = ()

    def _of_a_run(self) -> Any:
        raise NeedsValues(SHAPED_BY_RUNS)

    shape = ndim = size = tensor_shape = property(_of_a_run)

    def __repr__(self) -> str:
        return f"{self.type.name}<unknown>"


_unshaped: dict[DType, Unshaped] = {}


def unshaped(type: DType) -> Aval:
    """Return the interned Aval of a dtype whose shape is known only when a function runs."""
    found = _unshaped.get(type)
    if found is None:
        new = Unshaped()
        new.type, new.dtype, new.inexact, new.large = type, type.numpy, type.inexact, False
        found = _unshaped.setdefault(type, new)
    return found


def common(avals: Sequence[Aval], doubtful: Container[int] = ()) -> Aval | np.dtype:
    """Merge the Avals that a value in a graph may have; return the dtype only, if ranks differ.

    Extents that differ, or are `doubtful`, are unknown; so are all of a single Aval.
    """
    first = avals[0]
    if any(a.ndim != first.ndim for a in avals):
        return first.dtype
    axes = zip(*[a.shape for a in avals], strict=True)
    known = [e[0] if len(set(e)) == 1 < len(e) and e[0] not in doubtful else PROVISIONAL for e in axes]
    return aval(tuple(known), first.dtype)


def has_no_shape(aval_or_avals: Any) -> bool:
    """Return whether the shape of a value, or of one of several, is known when it is computed only."""
    return any(map(has_no_shape, aval_or_avals)) if type(aval_or_avals) is tuple else type(aval_or_avals) is Unshaped


def bytes_of(avals: Any) -> int:
    """Return the size in bytes of a value, or of a nest of tuples of values; 0 for a shape that is not known yet."""
    if type(avals) is Unshaped:
        return 0
    size: int = sum(map(bytes_of, avals)) if type(avals) is tuple else avals.size * avals.dtype.itemsize
    return size
