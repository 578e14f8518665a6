"""`Dimension`: TensorFlow 1's class for an extent, with the attribute `value`."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

from gradtape._src.core.base.public import public


def extent(value: Any) -> int | None:
    """Return an extent as an int, or None if it is unknown. TypeError or ValueError for any other value."""
    if value is None or isinstance(value, Unknown):
        return None
    try:
        found = value.__index__()
    except AttributeError:
        raise TypeError(
            f"Dimension value must be integer or None or have an __index__ method, got value '{value!r}' with type "
            f"'{type(value)!r}'"
        ) from None
    if found < 0:
        raise ValueError(f"Dimension {found} must be >= 0")
    return int(found)


def _arithmetic(function: Callable[[Any, Any], Any], reflected: bool = False) -> Callable[[Any, Any], Any]:
    def method(self: Dimension, other: Any) -> Any:
        try:
            a, b = self.value, extent(other)
        except (TypeError, ValueError):
            return NotImplemented
        if a is None or b is None:
            return Dimension(None)
        result = function(b, a) if reflected else function(a, b)
        return Dimension(result) if result >= 0 else result

    return method


class Dimension:
    """An extent; `value` is an int, or None if unknown. A known one is also an int. Sums and products are Dimensions.

    Results that depend on an unknown extent are unknown: `Dimension(None)` for arithmetic, None for comparisons.
    """

    __slots__ = ()

    @public
    def __new__(cls, value: Any) -> Any:
        found = extent(value)
        return object.__new__(Unknown) if found is None else int.__new__(KnownDimension, found)

    @property
    def value(self) -> Any:
        """The extent as an int, or None."""
        raise NotImplementedError

    def is_compatible_with(self, other: Any) -> bool:
        """Return whether both extents may be equal."""
        other = extent(other)
        return self.value is None or other is None or bool(self.value == other)

    @public
    def assert_is_compatible_with(self, other: Any) -> None:
        """Raise ValueError unless both extents may be equal."""
        if not self.is_compatible_with(other):
            raise ValueError(f"Dimensions {self} and {other} are not compatible")

    @public
    def merge_with(self, other: Any) -> Dimension:
        """Return the known one of two extents; ValueError if they differ."""
        self.assert_is_compatible_with(other)
        made: Dimension = Dimension(extent(other) if self.value is None else self.value)
        return made

    __add__, __radd__ = _arithmetic(operator.add), _arithmetic(operator.add, True)
    __sub__, __rsub__ = _arithmetic(operator.sub), _arithmetic(operator.sub, True)
    __mul__, __rmul__ = _arithmetic(operator.mul), _arithmetic(operator.mul, True)
    __floordiv__, __rfloordiv__ = _arithmetic(operator.floordiv), _arithmetic(operator.floordiv, True)
    __mod__, __rmod__ = _arithmetic(operator.mod), _arithmetic(operator.mod, True)

    def __repr__(self) -> str:
        return f"Dimension({self.value})"

    def __reduce__(self) -> tuple[Any, ...]:
        return Dimension, (self.value,)


class KnownDimension(Dimension, int):
    """A Dimension of a known extent."""

    __slots__ = ()

    @property
    def value(self) -> int:
        """The extent."""
        return int(self)

    def __str__(self) -> str:
        return int.__repr__(self)


def _undecided(self: Unknown, other: Any) -> Any:
    try:
        extent(other)
    except (TypeError, ValueError):
        return NotImplemented
    return None


class Unknown(Dimension):
    """A Dimension of unknown extent."""

    __slots__ = ()

    @property
    def value(self) -> None:
        """None."""
        return None

    __eq__ = __ne__ = __lt__ = __le__ = __gt__ = __ge__ = _undecided
    __hash__ = object.__hash__

    def __bool__(self) -> bool:
        return False

    def __str__(self) -> str:
        return "?"


def dimension_value(dimension: Any) -> Any:
    """Return an extent, given as a Dimension or not, as an int or None."""
    return dimension.value if isinstance(dimension, Dimension) else dimension


@public
def dimension_at_index(shape: Any, index: int) -> Dimension:
    """Return an extent of a TensorShape as a Dimension."""
    made: Dimension = Dimension(None) if shape.rank is None else shape.dims[index]
    return made


KnownDimension.__name__ = KnownDimension.__qualname__ = Unknown.__name__ = Unknown.__qualname__ = "Dimension"
