"""`Dim`: an unknown extent as a polynomial of symbols with integer coefficients, and comparisons for all values of the symbols.

Sums, differences and products are exact. An inexact quotient is a new symbol. Equal Dims are the same object.

If the answer to a comparison depends on the extents, the path that the thread follows decides (`core/values/ways`). Without a
path, extents count as large, and as equal to each other.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeVar
from weakref import WeakValueDictionary

import numpy as np

from gradtape._src.core.base.ambient import declare, field
from gradtape._src.core.base.errors import InvalidArgumentError

if TYPE_CHECKING:
    from gradtape._src.core.values.ways import Path

T = TypeVar("T")
# The value of a symbol in comparisons outside of `explored`: a prime, so that no number divides it.
GENERIC = (1 << 30) + 3
Monomial = tuple["Atom", ...]
Terms = tuple[tuple[Monomial, int], ...]


class UnknownExtent(InvalidArgumentError):
    """An unknown extent is used as a number."""


class Atom:
    """A symbol: an extent of at least 0 (any integer unless `counts`), or the quotient of two Dims, rounded down."""

    __slots__ = ("__weakref__", "counts", "number", "quotient")
    made = 0

    def __init__(self, counts: bool = True, quotient: tuple[Any, Any] | None = None) -> None:
        Atom.made += 1
        self.number, self.counts, self.quotient = Atom.made, counts, quotient

    def __lt__(self, other: Atom) -> bool:
        return self.number < other.number


NUMBERS = (float, np.inexact, np.ndarray)  # with such an operand, a Dim is converted to a number


def _of_integers(method: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
    """Wrap an arithmetic method so that it converts a Dim to a number if the other operand is not an integer."""
    name = method.__name__

    def of_integers(self: Dim, other: Any) -> Any:
        if isinstance(other, NUMBERS):
            return getattr(np.asarray(int(self)), name)(other)
        return method(self, other) if isinstance(other, (Dim, int, np.integer)) else NotImplemented

    return of_integers


class Dim:
    """An unknown extent; see the module's docstring."""

    __slots__ = ("__weakref__", "_hash", "terms")
    _hash: int
    __array_ufunc__ = None  # NumPy numbers leave arithmetic to Dim
    terms: Terms

    def substituted(self, values: Mapping[Atom, Any]) -> Any:
        """Return it with these values, ints or Dims, in the place of atoms."""
        if not any(_occurs(atom, values) for monomial, _ in self.terms for atom in monomial):
            return self
        return sum([c * math.prod([_value(atom, values) for atom in monomial]) for monomial, c in self.terms])

    @property
    def symbols(self) -> set[Atom]:
        """The symbols in it, including those in quotients."""
        atoms = {atom for monomial, _ in self.terms for atom in monomial}
        parts = [part.symbols for atom in atoms if atom.quotient for part in atom.quotient if type(part) is Dim]
        return {atom for atom in atoms if atom.quotient is None}.union(*parts)

    @property
    def symbol(self) -> Any:
        """The symbol if it is one, else None."""
        (monomial, coefficient), *others = self.terms
        return None if others or coefficient != 1 or len(monomial) != 1 or monomial[0].quotient else monomial[0]

    def __hash__(self) -> int:
        return self._hash

    @_of_integers
    def __add__(self, other: Any) -> Any:
        found = dict(self.terms)
        for monomial, c in _terms(other):
            found[monomial] = found.get(monomial, 0) + c
        return of_terms(found)

    @_of_integers
    def __mul__(self, other: Any) -> Any:
        found: dict[Monomial, int] = {}
        for one, c in self.terms:
            for monomial, d in _terms(other):
                both = tuple(sorted(one + monomial))
                found[both] = found.get(both, 0) + c * d
        return of_terms(found)

    __radd__, __rmul__ = __add__, __mul__

    def __neg__(self) -> Any:
        return self * -1

    def __pos__(self) -> Dim:
        return self

    @_of_integers
    def __sub__(self, other: Any) -> Any:
        return self + other * -1

    @_of_integers
    def __rsub__(self, other: Any) -> Any:
        return self * -1 + other

    @_of_integers
    def __floordiv__(self, other: Any) -> Any:
        return _quotient(self, other)

    @_of_integers
    def __rfloordiv__(self, other: Any) -> Any:
        return _quotient(other, self)

    @_of_integers
    def __mod__(self, other: Any) -> Any:
        return self - other * (self // other)

    @_of_integers
    def __rmod__(self, other: Any) -> Any:
        return other - self * (other // self)

    @_of_integers
    def __divmod__(self, other: Any) -> Any:
        return self // other, self % other

    def __pow__(self, other: Any) -> Any:
        return math.prod([self] * other) if isinstance(other, int) and other >= 0 else float(self) ** other

    def __abs__(self) -> Any:
        return self if self >= 0 else -self

    @_of_integers
    def __eq__(self, other: Any) -> Any:
        return self is other or holds("==", self - other)

    @_of_integers
    def __ne__(self, other: Any) -> Any:
        return not self == other

    @_of_integers
    def __lt__(self, other: Any) -> Any:
        return holds("<", self - other)

    @_of_integers
    def __gt__(self, other: Any) -> Any:
        return holds("<", other - self)

    @_of_integers
    def __le__(self, other: Any) -> Any:
        return not self > other

    @_of_integers
    def __ge__(self, other: Any) -> Any:
        return not self < other

    def __bool__(self) -> bool:
        return self != 0

    def __index__(self) -> int:
        path = local.exploration
        if path is None:
            raise UnknownExtent(
                None, None, "An extent that is not known has to be a number. Compute it from tf.shape, or state the shape."
            )
        return path.number(self)

    def __int__(self) -> int:
        return self.__index__()

    def __float__(self) -> float:
        return float(self.__index__())

    def __truediv__(self, other: Any) -> float:
        return self.__index__() / other

    def __rtruediv__(self, other: Any) -> float:
        return other / self.__index__()

    def __str__(self) -> str:
        return "?"

    __repr__ = __str__


_known: WeakValueDictionary[Terms, Dim] = WeakValueDictionary()
_quotients: WeakValueDictionary[tuple[Any, Any], Atom] = WeakValueDictionary()


def unknown(counts: bool = True) -> Dim:
    """Return a new unknown extent; a new unknown integer, possibly negative, unless `counts`."""
    made: Dim = of_terms({(Atom(counts),): 1})
    return made


def is_unknown(extent: Any) -> bool:
    """Return whether an extent, or a number of elements, is unknown. In a trace guided by a call all are known."""
    return type(extent) is Dim and not guided()


def is_same(one: Any, other: Any) -> bool:
    """Return whether two extents are equal whatever symbols stand for; a question with that answer is not asked of a way."""
    return one is other or (type(one) is not Dim and type(other) is not Dim and bool(one == other))


def same_shape(one: Sequence[Any], other: Sequence[Any]) -> bool:
    """Return whether two shapes are equal whatever symbols stand for."""
    return len(one) == len(other) and all(map(is_same, one, other))


def dims(value: Any) -> list[Dim]:
    """Return the Dims in a value: a Dim, or a nest of tuples."""
    if type(value) is tuple:
        return [dim for item in value for dim in dims(item)]
    return [value] if type(value) is Dim else []


def of_terms(found: dict[Monomial, int]) -> Any:
    terms = tuple(sorted([(monomial, c) for monomial, c in found.items() if c], key=_order))
    if not terms:
        return 0
    if len(terms) == 1 and not terms[0][0]:
        return terms[0][1]
    known = _known.get(terms)
    if known is None:
        known = Dim()
        known.terms, known._hash = terms, hash(terms)
        known = _known.setdefault(terms, known)
    return known


def _order(term: tuple[Monomial, int]) -> tuple[int, ...]:
    return tuple([atom.number for atom in term[0]])


def _terms(value: Any) -> Terms:
    if type(value) is Dim:
        return value.terms
    return (((), operator.index(value)),)


def _quotient(x: Any, y: Any) -> Any:
    """Return x // y, dividing those terms of x exactly that y divides."""
    if type(y) is not Dim:
        if y == 0:
            raise ZeroDivisionError("integer modulo by zero")
        whole = {monomial: c // y for monomial, c in x.terms if c % y == 0 or not monomial}
        rest = {monomial: c % y if not monomial else c for monomial, c in x.terms if monomial not in whole or not monomial}
    else:
        whole, rest = {}, dict(_terms(x))
        if len(y.terms) == 1:
            ((of, factor),) = y.terms
            for monomial, c in _terms(x):
                if c % factor == 0 and (left := _without(monomial, of)) is not None:
                    whole[left] = c // factor
                    del rest[monomial]
        elif x is y:
            return 1
    over = of_terms(rest)
    if type(over) is not Dim:
        over = over // y if type(y) is not Dim else over and _atom(over, y)
    else:
        over = _atom(over, y)
    return of_terms(whole) + over


def _atom(x: Any, y: Any) -> Dim:
    atom = _quotients.get((x, y))
    if atom is None:
        atom = _quotients.setdefault((x, y), Atom(quotient=(x, y)))
    made: Dim = of_terms({(atom,): 1})
    return made


def _without(monomial: Monomial, of: Monomial) -> Monomial | None:
    left = list(monomial)
    for atom in of:
        if atom not in left:
            return None
        left.remove(atom)
    return tuple(left)


def _occurs(atom: Atom, values: Mapping[Atom, Any]) -> bool:
    if atom.quotient is None:
        return atom in values
    return any(symbol in values for part in atom.quotient if type(part) is Dim for symbol in part.symbols)


def _value(atom: Atom, values: Mapping[Atom, Any]) -> Any:
    if atom.quotient is None:
        found = values.get(atom)
        return of_terms({(atom,): 1}) if found is None else found
    x, y = [part.substituted(values) if type(part) is Dim else part for part in atom.quotient]
    return x // y


def as_number(extent: Any, extents: Mapping[Atom, int]) -> int:
    """Return an extent as a number; UnknownExtent if a symbol is not among `extents`."""
    found = extent.substituted(extents) if type(extent) is Dim else extent
    if type(found) is Dim:
        raise UnknownExtent(None, None, "A shape depends on values that are not known.")
    return int(found)


# ---------------------------------------------------------------------------------------------------------------------
# Comparisons, which the thread's path decides: see `core/values/ways`


class _Fields:
    """The path of the exploration in this thread."""

    exploration: Path | None = field(None, per_replica=True)


local = declare(_Fields)


def holds(relation: str, d: Any) -> bool:
    """Return whether `d`, an int or a Dim, is 0 ("==") or negative ("<")."""
    if type(d) is not Dim:
        return bool(d == 0 if relation == "==" else d < 0)
    path = local.exploration
    return generic(relation, d) if path is None else path.holds(relation, d)


def generic(relation: str, d: Dim) -> bool:
    """Return whether `d` is 0, or negative, if extents are large and equal, and other integers are 1."""
    try:
        value = d.substituted({symbol: GENERIC if symbol.counts else 1 for symbol in d.symbols})
    except ZeroDivisionError:  # a quotient that is 0 for large extents
        return False
    return bool(value == 0 if relation == "==" else value < 0)


def guided() -> bool:
    """Return whether the thread's path answers all comparisons, and keeps the answers as conditions."""
    return local.exploration is not None and local.exploration.guides


def shown() -> bool:
    """Return whether users see unknown extents as Dims, not as None."""
    return local.exploration is not None and local.exploration.shows


def exploring() -> bool:
    """Return whether the thread follows a path."""
    return local.exploration is not None


def follow(path: Path) -> None:
    """Let the thread follow this path until the end of its context."""
    local.exploration = path


def now(extent: Any) -> Any:
    """Return an extent, simplified by the answers so far."""
    path = local.exploration
    return extent if path is None or type(extent) is not Dim else extent.substituted(path.values)


def chosen(options: Sequence[T]) -> T:
    """Return one of the options; each is chosen on at least one path."""
    path = local.exploration
    return options[0] if path is None else options[path.chosen(range(len(options)))]


def in_numbers(array: np.ndarray) -> np.ndarray:
    """Convert an array of objects, as NumPy makes it of Dims, to one of numbers; return any other array unchanged."""
    made_of = array.dtype.hasobject and array.size and isinstance(array.flat[0], (int, Dim))
    return array.astype(np.int64) if made_of else array
