"""`TensorShape`: the shape of a tensor, which may be unknown in part."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from gradtape._src.core.base.hidden import hides
from gradtape._src.core.base.public import unnamed
from gradtape._src.core.values.dim import Dim, is_unknown
from gradtape._src.core.values.dimension import Dimension, extent

Dims = tuple[Any, ...]  # ints, or None for an unknown extent

_as_dimensions = False  # whether items of shapes are Dimensions, as in TensorFlow 1


def give_dimensions(given: bool) -> None:
    """Make the items of shapes `Dimension`s, as in TensorFlow 1, or else ints and None. The library itself uses `as_list`."""
    global _as_dimensions
    _as_dimensions = given


@hides("of")
class TensorShape:
    """The shape of a tensor: a sequence of extents, `None` for an unknown one; `TensorShape(None)` has unknown rank.

    It behaves as a sequence of ints, and equals lists and tuples.

    >>> shape = tf.TensorShape([None, 3])
    >>> shape.rank, shape.is_compatible_with([5, 3])
    (2, True)
    >>> shape + [2]
    TensorShape([None, 3, 2])
    """

    __slots__ = ("_dims",)
    _dims: Dims | None

    @unnamed
    def __init__(self, dims: Any) -> None:
        if dims is None:
            self._dims = None
        elif isinstance(dims, TensorShape):
            self._dims = dims._dims
        elif isinstance(dims, int) or getattr(dims, "shape", None) == ():  # also NumPy integers
            self._dims = (extent(dims),)
        else:
            self._dims = tuple([dim if type(dim) is Dim or (type(dim) is int and dim >= 0) else extent(dim) for dim in dims])

    @classmethod
    def of(cls, dims: Dims) -> TensorShape:
        """Return the shape of a tuple of ints and Nones, without validation."""
        made = object.__new__(cls)
        made._dims = dims
        return made

    @property
    def rank(self) -> Any:
        """The number of axes, or None."""
        return None if self._dims is None else len(self._dims)

    @property
    def ndims(self) -> Any:
        """The number of axes, or None."""
        return self.rank

    @property
    def dims(self) -> Any:
        """The extents as a list of `Dimension`s, or None."""
        return None if self._dims is None else [Dimension(dim) for dim in self._dims]

    @unnamed
    def as_list(self) -> list[Any]:
        """Return the extents as a list; ValueError if the rank is unknown."""
        return list(self._known())

    def _known(self) -> Dims:
        if self._dims is None:
            raise ValueError("as_list() is not defined on an unknown TensorShape.")
        return self._dims

    @unnamed
    def num_elements(self) -> int | None:
        """Return the number of elements, or None if it is unknown."""
        if self._dims is None or not self.is_fully_defined():
            return None
        count = 1
        for item in self._dims:
            count *= item
        return count

    def is_fully_defined(self) -> bool:
        """Return whether every extent is known."""
        return self._dims is not None and None not in self._dims

    @unnamed
    def assert_is_fully_defined(self) -> None:
        """Raise ValueError unless every extent is known."""
        if not self.is_fully_defined():
            raise ValueError(f"Shape {self} is not fully defined.")

    def is_compatible_with(self, other: Any) -> bool:
        """Return whether a tensor can have both shapes; an unknown extent matches any other."""
        other = TensorShape(other)
        if self._dims is None or other._dims is None:
            return True
        return len(self._dims) == len(other._dims) and all(
            a is None or b is None or a == b or is_unknown(a) != is_unknown(b)
            for a, b in zip(self._dims, other._dims, strict=True)
        )

    @unnamed
    def assert_is_compatible_with(self, other: Any) -> None:
        """Raise ValueError unless the shapes are compatible."""
        if not self.is_compatible_with(other):
            raise ValueError(f"Shapes {self} and {TensorShape(other)} are incompatible")

    @unnamed
    def assert_has_rank(self, rank: int) -> None:
        """Raise ValueError unless the rank is `rank` or unknown."""
        if self.rank not in (None, rank):
            raise ValueError(f"Shape {self} must have rank {rank}")

    @unnamed
    def with_rank(self, rank: int) -> TensorShape:
        """Return this shape if it has rank `rank`; ValueError if not."""
        self.assert_has_rank(rank)
        return self if self._dims is not None else TensorShape([None] * rank)

    @unnamed
    def with_rank_at_least(self, rank: int) -> TensorShape:
        """Return this shape if it has `rank` axes or more; ValueError if not."""
        if self._dims is not None and len(self._dims) < rank:
            raise ValueError(f"Shape {self} must have rank at least {rank}")
        return self

    @unnamed
    def with_rank_at_most(self, rank: int) -> TensorShape:
        """Return this shape if it has `rank` axes or fewer; ValueError if not."""
        if self._dims is not None and len(self._dims) > rank:
            raise ValueError(f"Shape {self} must have rank at most {rank}")
        return self

    @unnamed
    def assert_same_rank(self, other: Any) -> None:
        """Raise ValueError unless the ranks are equal, or one is unknown."""
        other = TensorShape(other)
        if None not in (self.rank, other.rank) and self.rank != other.rank:
            raise ValueError(f"Shapes {self} and {other} must have the same rank")

    def most_specific_compatible_shape(self, other: Any) -> TensorShape:
        """Return the most specific shape compatible with both: None where they differ."""
        other = TensorShape(other)
        if self._dims is None or other._dims is None or len(self._dims) != len(other._dims):
            return TensorShape(None)
        return TensorShape([a if a == b else None for a, b in zip(self._dims, other._dims, strict=True)])

    def is_subtype_of(self, other: TensorShape) -> bool:
        """Return whether every tensor of this shape has the shape `other`, too."""
        if other._dims is None:
            return True
        if self._dims is None or len(self._dims) != len(other._dims):
            return False
        return all(b is None or a == b for a, b in zip(self._dims, other._dims, strict=True))

    def most_specific_common_supertype(self, others: Sequence[TensorShape]) -> TensorShape | None:
        """Return the most specific shape of which this and all `others` are subtypes; None if one of `others` is not a shape."""
        common = self
        for other in others:
            if not isinstance(other, TensorShape):
                return None
            common = common.most_specific_compatible_shape(other)
        return common

    @unnamed
    def merge_with(self, other: Any) -> TensorShape:
        """Return the shape with the known extents of both; ValueError if they conflict."""
        other = TensorShape(other)
        if not self.is_compatible_with(other):
            raise ValueError(f"Shapes {self} and {other} are not compatible")
        if self._dims is None or other._dims is None:
            return other if self._dims is None else self
        return TensorShape([b if a is None else a for a, b in zip(self._dims, other._dims, strict=True)])

    @unnamed
    def concatenate(self, other: Any) -> TensorShape:
        """Return this shape followed by `other`."""
        other = TensorShape(other)
        if self._dims is None or other._dims is None:
            return TensorShape(None)
        return TensorShape(self._dims + other._dims)

    def __add__(self, other: Any) -> TensorShape:
        return self.concatenate(other)

    def __radd__(self, other: Any) -> TensorShape:
        return TensorShape(other).concatenate(self)

    @unnamed
    def __getitem__(self, index: Any) -> Any:
        if isinstance(index, slice):
            return self._unknown_part(index) if self._dims is None else TensorShape(self._dims[index])
        item = None if self._dims is None else self._dims[index]
        return Dimension(item) if _as_dimensions else item

    def _unknown_part(self, index: slice) -> TensorShape:
        """Return a slice of a shape of unknown rank, with unknown extents, and a rank from the bounds if possible."""
        start, stop = index.start or 0, index.stop
        if index.step is not None or stop is None or start < 0 or stop < 0:
            return TensorShape(None)
        return TensorShape([None] * max(stop - start, 0))

    @unnamed
    def __iter__(self) -> Iterator[Any]:
        if self._dims is None:
            raise ValueError("Cannot iterate over a shape with unknown rank.")
        return map(Dimension, self._dims) if _as_dimensions else iter(self._dims)

    @unnamed
    def __len__(self) -> int:
        if self._dims is None:
            raise ValueError("Cannot take the length of shape with unknown rank.")
        return len(self._dims)

    def __bool__(self) -> bool:
        return self._dims is not None

    def __eq__(self, other: object) -> bool:
        try:
            return self._dims == TensorShape(other)._dims
        except (TypeError, ValueError):
            return NotImplemented

    def __hash__(self) -> int:
        return hash(self._dims)

    def __str__(self) -> str:
        if self._dims is None:
            return "<unknown>"
        items = map(str, self.dims if _as_dimensions else self._dims)
        return f"({', '.join(items)}{',' if len(self._dims) == 1 else ''})"

    def __repr__(self) -> str:
        return f"TensorShape({self.dims if self._dims is None or _as_dimensions else list(self._dims)})"

    def __reduce__(self) -> tuple[Any, ...]:
        return TensorShape, (self._dims,)
