"""Abstract values: shape and dtype of a value that has not been computed."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import Any
from weakref import WeakValueDictionary

import numpy as np

from gradtape._src.core.base.errors import NeedsValues, invalid
from gradtape._src.core.values.dim import Dim, unknown
from gradtape._src.core.values.dtypes import BY_NUMPY, DType, as_dtype
from gradtape._src.core.values.shape import TensorShape

SHAPED_BY_RUNS = "a Python function whose results have shapes that no TensorSpec in Tout states"


class Aval:
    """Shape and dtype. Interned: equal avals are the same object, so a table of them hashes by identity.

    `shape` is a tuple of ints, and of a Dim for an extent that is not known, `dtype` NumPy's dtype, `type` gradtape's `DType`.
    `inexact` tells whether a gradient can flow, `open` whether an extent is not known (in a graph), `bytes` the size in memory.
    """

    __slots__ = ("__weakref__", "bytes", "dtype", "inexact", "ndim", "open", "shape", "size", "tensor_shape", "type")
    shape: tuple[Any, ...]
    dtype: np.dtype
    type: DType
    ndim: int
    size: Any
    bytes: Any
    inexact: bool
    open: bool
    tensor_shape: TensorShape

    @property
    def open_shape(self) -> TensorShape:
        """The shape as a graph shows it: None for an extent that is not known."""
        return TensorShape.of(tuple([None if type(extent) is Dim else extent for extent in self.shape]))

    def stated(self, shape: TensorShape) -> Aval:
        """Return it with the extents that a shape of its rank states."""
        extents = [own if extent is None else extent for own, extent in zip(self.shape, shape.as_list(), strict=True)]
        return aval(extents, self.dtype)

    def may_be(self, other: Aval) -> bool:
        """Return whether a value can have both Avals: they are one, or differ in extents that are not known."""
        if self is other:
            return True
        return (self.open or other.open) and self.dtype is other.dtype and self.open_shape.is_compatible_with(other.open_shape)

    def __repr__(self) -> str:
        return f"{self.type.name}{list(self.shape)}"


_interned: dict[tuple[Any, Any], Aval] = {}
_open: WeakValueDictionary[tuple[Any, Any], Aval] = WeakValueDictionary()


def aval(shape: Iterable[Any], dtype: np.dtype) -> Aval:
    """Return the Aval of `shape` (any sequence of ints) and `dtype` (a NumPy dtype); InvalidArgumentError if its size
    overflows.
    """
    key = (shape, dtype)
    try:
        return _interned[key]
    except (KeyError, TypeError):
        pass
    shape = tuple([extent if type(extent) is Dim else int(extent) for extent in shape])
    if any(type(extent) is Dim for extent in shape):
        return _of_open_shape(shape, dtype)
    new = Aval()
    new.shape, new.ndim, new.size = shape, len(shape), math.prod(shape)
    if new.size * np.dtype(dtype).itemsize >= 1 << 63:  # XLA would end the process
        raise invalid(f"Shape [{','.join(map(str, shape))}] would have more than 2**63 - 1 elements or bytes")
    new.type = BY_NUMPY.get(dtype) or as_dtype(dtype)
    new.dtype = new.type.numpy
    new.bytes = new.size * new.dtype.itemsize
    new.inexact = new.type.inexact
    new.tensor_shape = TensorShape.of(shape)
    new.open = False
    new = _interned.setdefault((shape, new.dtype), new)
    return new


def _of_open_shape(shape: tuple[Any, ...], dtype: np.dtype) -> Aval:
    """Return the Aval of a shape with unknown extents, which is kept as long as something has it."""
    key = shape, np.dtype(dtype)
    known = _open.get(key)
    if known is None:
        known = Aval()
        known.shape, known.ndim, known.size = shape, len(shape), math.prod(shape)
        known.type = BY_NUMPY.get(dtype) or as_dtype(dtype)
        known.dtype, known.inexact, known.open = known.type.numpy, known.type.inexact, True
        known.bytes = known.size * known.dtype.itemsize
        known.tensor_shape = TensorShape.of(shape)
        known = _open.setdefault((shape, known.dtype), known)
    return known


class Unshaped(Aval):
    """The dtype of a value in a function whose shape is known when the function runs. To ask for the shape is a NeedsValues.

    So what computes with such a value runs as eager code; a function may return it, or give it to another Python function.
    """

    __slots__ = ()
    bytes = 0

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
        new.type, new.dtype, new.inexact, new.open = type, type.numpy, type.inexact, False
        found = _unshaped.setdefault(type, new)
    return found


def common(avals: Sequence[Aval]) -> Aval | np.dtype:
    """Return the common part of the Avals that a value may have: an extent that is not the same in all is a new symbol.

    Of Avals of several ranks the dtype only.
    """
    first = avals[0]
    if any(a.ndim != first.ndim for a in avals):
        return first.dtype
    return aval([_common_extent(axis) for axis in zip(*[a.shape for a in avals], strict=True)], first.dtype)


def _common_extent(extents: Sequence[Any]) -> Any:
    first = extents[0]
    return first if all(e is first or (type(e) is type(first) is int and e == first) for e in extents) else unknown()


def has_no_shape(aval_or_avals: Any) -> bool:
    """Return whether the shape of a value, or of one of several, is known when it is computed only."""
    return any(map(has_no_shape, aval_or_avals)) if type(aval_or_avals) is tuple else type(aval_or_avals) is Unshaped


def is_open(avals: Any) -> bool:
    """Return whether an extent of a value, or of one in a nest of tuples of values, is not known."""
    return any(map(is_open, avals)) if type(avals) is tuple else type(avals) is not Unshaped and avals.open


def bytes_of(avals: Any) -> int:
    """Return the size in bytes of a value, or of a nest of tuples of values; 0 for a shape that is not known yet."""
    if type(avals) is not tuple:
        return avals.bytes
    return sum([a.bytes if type(a) is Aval else bytes_of(a) for a in avals])
