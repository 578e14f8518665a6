"""Abstract values: the shape and dtype of a value, without the value."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import Any, ClassVar
from weakref import WeakValueDictionary

import numpy as np

from gradtape._src.core.base.errors import NeedsValues, invalid
from gradtape._src.core.values.dim import Dim, unknown
from gradtape._src.core.values.dtypes import BY_NUMPY, DType, as_dtype
from gradtape._src.core.values.shape import TensorShape


class Aval:
    """Shape and dtype. Interned: equal Avals are the same object, so that tables hash them by identity.

    `shape` is a tuple of ints, with a Dim for an unknown extent; `dtype` is NumPy's, `type` gradtape's `DType`. `inexact` tells
    whether a gradient can flow, `open` whether an extent is unknown; `bytes` is the size in memory. Only an `Unranked` is not
    `ranked`.
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
    ranked: ClassVar[bool] = True

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
        """Return whether a value can have both Avals: they are equal, or unknown extents or ranks may make them equal."""
        if not (self.ranked and other.ranked):
            return self.dtype is other.dtype
        if self is other or self.dtype is not other.dtype or not (self.open or other.open):
            return self is other
        pairs = zip(self.shape, other.shape, strict=False)
        return self.ndim == other.ndim and all(type(m) is Dim or type(n) is Dim or m == n for m, n in pairs)

    def differs(self, other: Aval) -> bool:
        """Return whether the shape differs from another one, where both ranks are known."""
        return self.ranked and other.ranked and self.shape != other.shape

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


class Unranked(Aval):
    """The dtype of a value whose rank is known only in a run. Its shape raises NeedsValues.

    A graph keeps calls on such a value until it runs. A function that computes with one runs as eager code; it may return the
    value, or pass it to a Python function.
    """

    __slots__ = ()
    bytes = 0
    ranked = False
    open_shape = TensorShape(None)

    def _of_a_run(self) -> Any:
        raise NeedsValues(
            "the shape of a tensor of unknown rank. State it: with set_shape, shape= of a placeholder, or a TensorSpec in Tout"
        )

    shape = ndim = size = property(_of_a_run)

    def stated(self, shape: TensorShape) -> Aval:
        """Return the Aval of a shape, with new symbols for unknown extents."""
        return self if shape.rank is None else aval([unknown() if e is None else e for e in shape.as_list()], self.dtype)

    def __repr__(self) -> str:
        return f"{self.type.name}<unknown>"


_unranked: dict[DType, Unranked] = {}


def unranked(type: DType) -> Aval:
    """Return the interned Unranked of a dtype."""
    found = _unranked.get(type)
    if found is None:
        new = Unranked()
        new.type, new.dtype, new.inexact, new.open = type, type.numpy, type.inexact, False
        new.users = None
        found = _unranked.setdefault(type, new)
    return found


def common(avals: Sequence[Aval]) -> Aval:
    """Return an Aval for any of these: extents that differ become new symbols. It is unranked if the ranks differ."""
    first = avals[0]
    if has_no_rank(tuple(avals)) or any(a.ndim != first.ndim for a in avals):
        return unranked(first.type)
    return aval([_common_extent(axis) for axis in zip(*[a.shape for a in avals], strict=True)], first.dtype)


def stacked(of: Aval, count: Any) -> Aval:
    """Return the Aval of `count` values stacked along a new first axis."""
    return aval((count, *of.shape), of.dtype) if of.ranked else of


def row_of(of: Aval) -> Aval:
    """Return the Aval of a row, a value without the first axis."""
    return aval(of.shape[1:], of.dtype) if of.ranked else of


def with_rows(of: Aval, count: Any) -> Aval:
    """Return an Aval with another first extent."""
    return aval((count, *of.shape[1:]), of.dtype) if of.ranked else of


def _common_extent(extents: Sequence[Any]) -> Any:
    first = extents[0]
    return first if all(e is first or (type(e) is type(first) is int and e == first) for e in extents) else unknown()


def has_no_rank(avals: Any) -> bool:
    """Return whether the rank of a value, or of any in a nest of tuples, is unknown."""
    return any(map(has_no_rank, avals)) if type(avals) is tuple else not avals.ranked


def has_shape(avals: Any) -> bool:
    """Return whether these are the Aval of one value, of known rank."""
    return type(avals) is not tuple and avals.ranked


def changes(avals: Any) -> bool:
    """Return whether these are the Aval of one value with an unknown extent or rank, which may differ from run to run."""
    return type(avals) is not tuple and (avals.open or not avals.ranked)


def is_open(avals: Any) -> bool:
    """Return whether a value, or any in a nest of tuples, has an unknown extent."""
    return any(map(is_open, avals)) if type(avals) is tuple else bool(avals.open)


def bytes_of(avals: Any) -> int:
    """Return the size in bytes of a value, or of a nest of tuples of values; 0 for an unknown shape."""
    if type(avals) is not tuple:
        return avals.bytes
    return sum([a.bytes if type(a) is Aval else bytes_of(a) for a in avals])
