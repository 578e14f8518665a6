"""`Dim`: an extent that is not known, a polynomial of symbols with integer coefficients; and what holds for all of its values.

Sums, differences and products are exact. A quotient is a symbol of its own where it is not exact. Equal Dims are one object.

A question that has not the same answer for all extents is decided twice, and once each way: `explored` runs a function for each
way that its questions can be answered. Outside of it, such extents count as large, and as equal to each other.
"""

from __future__ import annotations

import math
import operator
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeVar
from weakref import WeakValueDictionary

import numpy as np

from gradtape._src.core.ambient import declare, field, setting
from gradtape._src.core.errors import InvalidArgumentError

T = TypeVar("T")
# The value of a symbol where a question is asked outside of `explored`: a prime, so that no number divides it.
GENERIC = (1 << 30) + 3
SAMPLES = (2, 3, 1, 4, 5, 0), (1, 0, 2, 3, -1, 5)  # values of an extent, or another integer, that has to be a number
FEW = 16  # values that are all gone through
FAR = 1 << 12  # numbers above are not tried
MOST = 100  # runs of one exploration
Monomial = tuple["Atom", ...]
Terms = tuple[tuple[Monomial, int], ...]


class UnknownExtent(InvalidArgumentError):
    """An extent that is not known has to be a number."""


class Atom:
    """A symbol: an extent of at least 0, or any number if not `counts`; or the quotient of two Dims, rounded down."""

    __slots__ = ("__weakref__", "counts", "number", "quotient")
    made = 0

    def __init__(self, counts: bool = True, quotient: tuple[Any, Any] | None = None) -> None:
        Atom.made += 1
        self.number, self.counts, self.quotient = Atom.made, counts, quotient

    def __lt__(self, other: Atom) -> bool:
        return self.number < other.number


NUMBERS = (float, np.inexact, np.ndarray)  # other operands, beside which a Dim is a number


def _of_integers(method: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
    """Let a Dim be a number where the other operand is no integer."""
    name = method.__name__

    def of_integers(self: Dim, other: Any) -> Any:
        if isinstance(other, NUMBERS):
            return getattr(np.asarray(int(self)), name)(other)
        return method(self, other) if isinstance(other, (Dim, int, np.integer)) else NotImplemented

    return of_integers


class Dim:
    """An extent that is not known; see the file."""

    __slots__ = ("__weakref__", "_hash", "terms")
    _hash: int
    __array_ufunc__ = None  # NumPy's numbers leave arithmetic to it
    terms: Terms

    def substituted(self, values: Mapping[Atom, Any]) -> Any:
        """Return it with these values, ints or Dims, for some of its atoms."""
        if not any(_occurs(atom, values) for monomial, _ in self.terms for atom in monomial):
            return self
        return sum([c * math.prod([_value(atom, values) for atom in monomial]) for monomial, c in self.terms])

    @property
    def symbols(self) -> set[Atom]:
        """The symbols in it, those of quotients as well."""
        atoms = {atom for monomial, _ in self.terms for atom in monomial}
        parts = [part.symbols for atom in atoms if atom.quotient for part in atom.quotient if type(part) is Dim]
        return {atom for atom in atoms if atom.quotient is None}.union(*parts)

    @property
    def symbol(self) -> Atom | None:
        """The symbol that it is, or None."""
        (monomial, coefficient), *others = self.terms
        return None if others or coefficient != 1 or len(monomial) != 1 or monomial[0].quotient else monomial[0]

    def __hash__(self) -> int:
        return self._hash

    @_of_integers
    def __add__(self, other: Any) -> Any:
        found = dict(self.terms)
        for monomial, c in _terms(other):
            found[monomial] = found.get(monomial, 0) + c
        return _of(found)

    @_of_integers
    def __mul__(self, other: Any) -> Any:
        found: dict[Monomial, int] = {}
        for one, c in self.terms:
            for monomial, d in _terms(other):
                both = tuple(sorted(one + monomial))
                found[both] = found.get(both, 0) + c * d
        return _of(found)

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
        return self is other or _holds("==", self - other)

    @_of_integers
    def __ne__(self, other: Any) -> Any:
        return not self == other

    @_of_integers
    def __lt__(self, other: Any) -> Any:
        return _holds("<", self - other)

    @_of_integers
    def __gt__(self, other: Any) -> Any:
        return _holds("<", other - self)

    @_of_integers
    def __le__(self, other: Any) -> Any:
        return not self > other

    @_of_integers
    def __ge__(self, other: Any) -> Any:
        return not self < other

    def __bool__(self) -> bool:
        return self != 0

    def __index__(self) -> int:
        path = _local.exploration
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
    """Return an extent of which nothing is known: a new symbol; an integer that may be negative if not `counts`."""
    made: Dim = _of({(Atom(counts),): 1})
    return made


def is_unknown(extent: Any) -> bool:
    """Return whether an extent, or a number of elements, is not known."""
    return type(extent) is Dim


def dims(value: Any) -> list[Dim]:
    """Return the extents that are not known in a value: a Dim, or a nest of tuples."""
    if type(value) is tuple:
        return [dim for item in value for dim in dims(item)]
    return [value] if type(value) is Dim else []


def _of(found: dict[Monomial, int]) -> Any:
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
    """Return x // y; the part of x that y divides is divided."""
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
    over = _of(rest)
    if type(over) is not Dim:
        over = over // y if type(y) is not Dim else over and _atom(over, y)
    else:
        over = _atom(over, y)
    return _of(whole) + over


def _atom(x: Any, y: Any) -> Dim:
    atom = _quotients.get((x, y))
    if atom is None:
        atom = _quotients.setdefault((x, y), Atom(quotient=(x, y)))
    made: Dim = _of({(atom,): 1})
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
        return _of({(atom,): 1}) if found is None else found
    x, y = [part.substituted(values) if type(part) is Dim else part for part in atom.quotient]
    return x // y


# ---------------------------------------------------------------------------------------------------------------------
# Questions


class Path:
    """One way to answer the questions of a function: `script` says how the first of them are answered.

    `values` are the extents that follow, `forks` the scripts that answer one question otherwise.
    """

    def __init__(self, script: tuple[Any, ...]) -> None:
        self.script, self.taken = script, []  # type: tuple[Any, ...], list[Any]
        self.forks: list[tuple[Any, ...]] = []
        self.values: dict[Atom, Any] = {}
        self._low: dict[Atom, int] = {}
        self._high: dict[Atom, int] = {}
        self._answers: dict[tuple[str, Dim], bool] = {}
        self._numbers: dict[Dim, int] = {}
        self._supposed: dict[Atom, int] = {}  # which are numbers where one is needed, and stay symbols in shapes

    def holds(self, relation: str, d: Any) -> bool:
        """Return whether `d` is 0, or less."""
        d = self._now(d)
        d = d.substituted(self._supposed) if type(d) is Dim else d
        if type(d) is not Dim:
            return bool(d == 0 if relation == "==" else d < 0)
        low, high = self._bounds(d)
        if relation == "==":
            if low > 0 or high < 0 or self._never_zero(d):
                return False
        elif high < 0 or low >= 0:
            return bool(high < 0)
        known = self._answers.get((relation, d))
        if known is None and relation == "==":
            known = self._answers.get((relation, -d))
        if known is None:
            usual = generic(relation, d)
            known = self.chosen((usual, not usual))
            self._assume(relation, d, known)
        return known

    def number(self, d: Any) -> int:
        """Return a number for `d`: every one that there is if they are few, else some."""
        d = self._now(d)
        if type(d) is not Dim:
            return int(d)
        if d in self._numbers:
            return self._numbers[d]
        low, high = self._bounds(d)
        few = high - low < FEW
        options = tuple(range(int(low), int(high) + 1)) if few else tuple([n for n in SAMPLES[low < 0] if low <= n <= high])
        if not options and not FAR > low > -FAR:
            raise UnknownExtent(None, None, "A number is needed for an extent that is very large.")
        found: int = self.chosen(options or (int(low),))
        self._numbers[d] = found
        if (symbol := d.symbol) is not None:
            self._supposed[symbol] = found
        return found

    def _now(self, d: Any) -> Any:
        return d.substituted(self.values) if type(d) is Dim else d

    def chosen(self, options: Sequence[Any]) -> Any:
        """Return the option that the script has here, or else the first: the others are forks."""
        place = len(self.taken)
        if place < len(self.script):
            choice = self.script[place]
        else:
            choice = options[0]
            self.forks += [(*self.taken, other) for other in options[1:]]
        self.taken.append(choice)
        return choice

    def _assume(self, relation: str, d: Dim, holds: bool) -> None:
        self._answers[relation, d] = holds
        if relation == "==" and holds:
            self._solve(d)
            return
        if (line := _line(d)) is None:
            return
        atom, slope, offset = line  # slope · atom + offset
        low, high = self._of_atom(atom)
        if relation == "==":
            if offset % slope == 0 and -offset // slope in (low, high):
                at_low = -offset // slope == low
                (self._low if at_low else self._high)[atom] = int(low + 1 if at_low else high - 1)
        elif (slope > 0) == holds:  # at most
            limit = (-offset - 1) // slope if holds else offset // -slope
            self._high[atom] = int(min(high, limit))
        else:
            limit = offset // -slope + 1 if holds else -(offset // slope)
            self._low[atom] = int(max(low, limit))
        low, high = self._of_atom(atom)
        if low == high:
            self._solve(_of({(atom,): 1, (): -int(low)}))

    def _solve(self, d: Dim) -> None:
        """Let one of the symbols of `d`, which is 0, be what the others say."""
        for monomial, c in reversed(d.terms):
            if len(monomial) == 1 and not monomial[0].quotient and (abs(c) == 1 or _line(d)):
                rest = d - _of({monomial: c})
                if type(rest) is Dim and monomial[0] in rest.symbols:
                    continue
                value = -rest // c if type(rest) is not Dim else rest * -c
                self.values = {atom: self._put(v, monomial[0], value) for atom, v in self.values.items()}
                self.values[monomial[0]] = value
                return

    @staticmethod
    def _put(value: Any, atom: Atom, new: Any) -> Any:
        return value.substituted({atom: new}) if type(value) is Dim else value

    def _of_atom(self, atom: Atom) -> tuple[float, float]:
        if atom.quotient is not None and atom not in self._low:
            x, y = atom.quotient
            (low, high), (least, most) = self._bounds(x), self._bounds(y)
            if low >= 0 and least > 0:
                return low // most if most < math.inf else 0, high // least if high < math.inf else math.inf
        least_of_all = 0 if atom.counts and atom.quotient is None else -math.inf
        return self._low.get(atom, least_of_all), self._high.get(atom, math.inf)

    def _bounds(self, d: Any) -> tuple[float, float]:
        """Return the least and the greatest value that `d` may have."""
        if type(d) is not Dim:
            return d, d
        low = high = 0.0
        for monomial, c in d.terms:
            least, most = 1.0, 1.0
            for atom in monomial:
                ends = [_times(a, b) for a in (least, most) for b in self._of_atom(atom)]
                least, most = min(ends), max(ends)
            ends = [_times(c, least), _times(c, most)]
            low, high = low + min(ends), high + max(ends)
        return low, high

    @staticmethod
    def _never_zero(d: Dim) -> bool:
        """Return whether the coefficients have a common divisor that does not divide the constant."""
        constant = sum([c for monomial, c in d.terms if not monomial])
        return constant % math.gcd(*[c for monomial, c in d.terms if monomial]) != 0


def _times(a: float, b: float) -> float:
    return 0.0 if a == 0 or b == 0 else a * b


def _line(d: Dim) -> tuple[Atom, int, int] | None:
    """Return (atom, slope, offset) of a Dim of one atom, to the first power; None of another."""
    (monomial, slope), *others = reversed(d.terms)
    if len(monomial) != 1 or len(others) > 1 or (others and others[0][0]):
        return None
    return monomial[0], slope, others[0][1] if others else 0


class _Fields:
    """The path of the exploration that the thread is in."""

    exploration: Path | None = field(None, per_replica=True)


_local = declare(_Fields)


def _holds(relation: str, d: Any) -> bool:
    if type(d) is not Dim:
        return bool(d == 0 if relation == "==" else d < 0)
    path = _local.exploration
    return generic(relation, d) if path is None else path.holds(relation, d)


def generic(relation: str, d: Dim) -> bool:
    """Return whether `d` is 0, or less, for extents that are large and all the same, and other integers that are 1."""
    try:
        value = d.substituted({symbol: GENERIC if symbol.counts else 1 for symbol in d.symbols})
    except ZeroDivisionError:  # a quotient that is 0 for large extents
        return False
    return bool(value == 0 if relation == "==" else value < 0)


def exploring() -> bool:
    """Return whether the thread runs a function for several answers."""
    return _local.exploration is not None


def following(path: Path | None) -> setting:
    """Open a context in which the path answers what is asked of extents that are not known."""
    return setting(exploration=path)


def explored(
    function: Callable[[], T], refusals: tuple[type[Exception], ...], most: int = MOST, enough: int = MOST
) -> tuple[list[tuple[T, Path]], list[Exception]]:
    """Return what `function` gives for each way to answer its questions, and the errors of the ways that it refuses.

    Ways that differ from the usual one in few answers are gone first: no more than `most`, and none once `enough` gave something.
    """
    found: list[tuple[T, Path]] = []
    refused: list[Exception] = []
    waiting: deque[tuple[Any, ...]] = deque([()])
    doubted: list[tuple[Any, ...]] = []  # in which the last answer of a way that failed is another
    left = most
    while (waiting or doubted) and left and len(found) < enough:
        path, left = Path(doubted.pop() if doubted and (left % 2 or not waiting) else waiting.popleft()), left - 1
        try:
            with following(path):
                found.append((function(), path))
        except refusals as error:
            refused.append(error)
            if not found and path.forks:
                doubted.append(path.forks.pop())
        waiting += path.forks
    return found, refused


def in_numbers(array: np.ndarray) -> np.ndarray:
    """Return an array of numbers for one of objects, which NumPy makes of Dims; another one as it is."""
    made_of = array.dtype.hasobject and array.size and isinstance(array.flat[0], (int, Dim))
    return array.astype(np.int64) if made_of else array


def agreed(extents: Sequence[tuple[Any, Path]]) -> Any:
    """Return the extent that all of several are, each on its path; None if there is none."""
    numbers = {_on(extent, path) for extent, path in extents}
    if len(numbers) == 1 and type(number := numbers.pop()) is int:
        return number
    for candidate, _ in extents:
        if all(_alike(_on(candidate, path), _on(extent, path)) for extent, path in extents):
            return candidate
    return None


def _alike(one: Any, other: Any) -> bool:
    return (one is other and one is not None) or (type(one) is type(other) is int and one == other)


def _on(extent: Any, path: Path) -> Any:
    """Return an extent as the path has it; None for a quotient by what is 0 there."""
    try:
        return extent.substituted(path.values) if type(extent) is Dim else int(extent)
    except ZeroDivisionError:
        return None


def chosen(options: Sequence[T]) -> T:
    """Return one of the options; each is taken in one way at least."""
    path = _local.exploration
    return options[0] if path is None else options[path.chosen(range(len(options)))]


def now(extent: Any) -> Any:
    """Return an extent with what the answers so far say of it."""
    path = _local.exploration
    return extent if path is None or type(extent) is not Dim else extent.substituted(path.values)
