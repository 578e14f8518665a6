"""Abstract values: the shape and dtype of a value, without the value."""

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
    """Shape and dtype. Interned: equal Avals are the same object, so that tables hash them by identity.

    `shape` is a tuple of ints, with a Dim for an unknown extent; `dtype` is NumPy's, `type` gradtape's `DType`. `inexact` tells
    whether a gradient can flow, `open` whether an extent is unknown; `bytes` is the size in memory.
    """

    __slots__ = ("__weakref__", "bytes", "dtype", "inexact", "ndim", "open", "shape", "size", "type", "users")
    shape: tuple[Any, ...]
    dtype: np.dtype
    type: DType
    ndim: int
    size: Any
    bytes: Any
    inexact: bool
    open: bool
    users: TensorShape | None

    @property
    def tensor_shape(self) -> TensorShape:
        """The shape for users, with a Dim for an unknown extent; made when it is first read."""
        if self.users is None:
            self.users = TensorShape.of(self.shape)
        return self.users

    @property
    def open_shape(self) -> TensorShape:
        """The shape for a graph's user, with None for an unknown extent."""
        return TensorShape.of(tuple([None if type(extent) is Dim else extent for extent in self.shape]))

    def stated(self, shape: TensorShape) -> Aval:
        """Return it with the extents of a shape of the same rank, except where that has None."""
        extents = [own if extent is None else extent for own, extent in zip(self.shape, shape.as_list(), strict=True)]
        return aval(extents, self.dtype)

    def may_be(self, other: Aval) -> bool:
        """Return whether a value can have both Avals: they are equal, or unknown extents may make them equal."""
        if self is other or self.dtype is not other.dtype or not (self.open or other.open):
            return self is other
        pairs = zip(self.shape, other.shape, strict=False)
        return self.ndim == other.ndim and all(type(m) is Dim or type(n) is Dim or m == n for m, n in pairs)

    def __repr__(self) -> str:
        return f"{self.type.name}{list(self.shape)}"


_interned: dict[tuple[Any, Any], Aval] = {}
_open: WeakValueDictionary[tuple[Any, Any], Aval] = WeakValueDictionary()


def printed(shape: Iterable[Any]) -> str:
    """Format a shape as in TensorFlow's messages: `[2,3]`."""
    return f"[{','.join(map(str, shape))}]"


def aval(shape: Iterable[Any], dtype: np.dtype) -> Aval:
    """Return the Aval of `shape` (ints or Dims) and `dtype` (NumPy's); InvalidArgumentError if the size in bytes overflows."""
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
    if new.size * np.dtype(dtype).itemsize >= 1 << 63:  # XLA would abort the process
        raise invalid(f"Shape {printed(shape)} would have more than 2**63 - 1 elements or bytes")
    new.type = BY_NUMPY.get(dtype) or as_dtype(dtype)
    new.dtype = new.type.numpy
    new.bytes = new.size * new.dtype.itemsize
    new.inexact = new.type.inexact
    new.open, new.users = False, None
    new = _interned.setdefault((shape, new.dtype), new)
    return new


def _of_open_shape(shape: tuple[Any, ...], dtype: np.dtype) -> Aval:
    """Return the Aval of a shape with unknown extents; it is interned while it is in use."""
    key = shape, np.dtype(dtype)
    known = _open.get(key)
    if known is None:
        known = Aval()
        known.shape, known.ndim, known.size = shape, len(shape), math.prod(shape)
        known.type = BY_NUMPY.get(dtype) or as_dtype(dtype)
        known.dtype, known.inexact, known.open = known.type.numpy, known.type.inexact, True
        known.users = None
        known.bytes = known.size * known.dtype.itemsize
        known = _open.setdefault((shape, known.dtype), known)
    return known


class Unshaped(Aval):
    """The dtype of a value whose shape is known only when a function runs. Its shape raises NeedsValues.

    So a function that computes with such a value runs as eager code. It may return the value, or pass it to another Python
    function.
    """

    __slots__ = ()
    bytes = 0

    def _of_a_run(self) -> Any:
        raise NeedsValues(SHAPED_BY_RUNS)

    shape = ndim = size = property(_of_a_run)

    def __repr__(self) -> str:
        return f"{self.type.name}<unknown>"


_unshaped: dict[DType, Unshaped] = {}


def unshaped(type: DType) -> Aval:
    """Return the interned Unshaped of a dtype."""
    found = _unshaped.get(type)
    if found is None:
        new = Unshaped()
        new.type, new.dtype, new.inexact, new.open = type, type.numpy, type.inexact, False
        new.users = None
        found = _unshaped.setdefault(type, new)
    return found


def common(avals: Sequence[Aval]) -> Aval | np.dtype:
    """Return an Aval for any of these: extents that differ become new symbols.

    If the ranks differ, only the dtype is returned.
    """
    first = avals[0]
    if any(a.ndim != first.ndim for a in avals):
        return first.dtype
    return aval([_common_extent(axis) for axis in zip(*[a.shape for a in avals], strict=True)], first.dtype)


def _common_extent(extents: Sequence[Any]) -> Any:
    first = extents[0]
    return first if all(e is first or (type(e) is type(first) is int and e == first) for e in extents) else unknown()


def has_no_shape(aval_or_avals: Any) -> bool:
    """Return whether the shape of a value, or of one of several, is known only when it is computed."""
    return any(map(has_no_shape, aval_or_avals)) if type(aval_or_avals) is tuple else type(aval_or_avals) is Unshaped


def is_open(avals: Any) -> bool:
    """Return whether a value, or any in a nest of tuples, has an unknown extent."""
    return any(map(is_open, avals)) if type(avals) is tuple else type(avals) is not Unshaped and avals.open


def bytes_of(avals: Any) -> int:
    """Return the size in bytes of a value, or of a nest of tuples of values; 0 for an unknown shape."""
    if type(avals) is not tuple:
        return avals.bytes
    return sum([a.bytes if type(a) is Aval else bytes_of(a) for a in avals])
