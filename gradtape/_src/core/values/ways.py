"""Paths: ways to answer comparisons of unknown extents. A function is run once for each path, or for the path of a call."""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, TypeVar

from gradtape._src.core.base.ambient import setting
from gradtape._src.core.values.dim import Atom, Dim, UnknownExtent, as_number, generic, holds, of_terms

T = TypeVar("T")
# The numbers tried for an extent, and for another integer, that must be a number.
SAMPLES = (2, 3, 1, 4, 5, 0), (1, 0, 2, 3, -1, 5)
FEW = 16  # a range of at most this many values is tried in full
FAR = 1 << 12  # larger numbers are not tried
MOST = 100  # the number of runs of one exploration
TRIALS = 12  # the number of runs to find the first path


def _line(d: Dim) -> tuple[Atom, int, int] | None:
    """Return (atom, slope, offset) of a Dim that is linear in one atom; None for any other."""
    (monomial, slope), *others = reversed(d.terms)
    if len(monomial) != 1 or len(others) > 1 or (others and others[0][0]):
        return None
    return monomial[0], slope, others[0][1] if others else 0


def fixed_by(relation: str, d: Dim) -> list[tuple[Atom, int]]:
    """Return the symbol's value implied by `d == 0`, as a list of at most one (symbol, value)."""
    line = _line(d) if relation == "==" else None
    return [] if line is None or line[2] % line[1] or line[0].quotient else [(line[0], -line[2] // line[1])]


class Path:
    """One way to answer a function's questions about extents: `script` has the first answers.

    `values` are extents implied by the answers; `forks` are scripts with another answer to one question. If it `guides`, every
    question is answered, so that no extent counts as unknown. If it `shows` extents, users see Dims, not None, as items of
    shapes. Unless it `supposes` numbers, using an unknown extent as a number is an error.
    """

    guides = shows = False
    supposes = True

    def __init__(self, script: tuple[Any, ...]) -> None:
        self.script, self.taken = script, []  # type: tuple[Any, ...], list[Any]
        self.forks: list[tuple[Any, ...]] = []
        self.values: dict[Atom, Any] = {}
        self._low: dict[Atom, int] = {}
        self._high: dict[Atom, int] = {}
        self._answers: dict[tuple[str, Dim], bool] = {}
        self._numbers: dict[Dim, int] = {}
        self._supposed: dict[Atom, int] = {}  # numbers used where one is needed; shapes keep the symbols

    def holds(self, relation: str, d: Any) -> bool:
        """Return whether `d` is 0 ("==") or negative ("<")."""
        d = self._now(d)
        d = d.substituted(self._supposed) if type(d) is Dim else d
        if (known := self._known(relation, d)) is not None:
            return known
        known = self._answers.get((relation, d))
        if known is None and relation == "==":
            known = self._answers.get((relation, -d))
        if known is None:
            usual = generic(relation, d)
            known = self.chosen((usual, not usual))
            self._assume(relation, d, known)
        return known

    def _known(self, relation: str, d: Any) -> bool | None:
        """Return the answer if it is the same for all possible extents, else None."""
        if type(d) is not Dim:
            return bool(d == 0 if relation == "==" else d < 0)
        low, high = self._bounds(d)
        if relation == "==":
            return False if low > 0 or high < 0 or self._never_zero(d) else None
        return high < 0 if high < 0 or low >= 0 else None

    @property
    def asked(self) -> list[Dim]:
        """The Dims that were compared, or used as numbers."""
        return [*[d for _, d in self._answers], *self._numbers]

    @property
    def conditions(self) -> list[tuple[str, Dim, bool]]:
        """The answers so far: whether a Dim is 0 ("==") or negative ("<")."""
        numbers = [("==", d - number, True) for d, number in self._numbers.items()]
        return [*[(relation, d, answer) for (relation, d), answer in self._answers.items()], *numbers]

    @classmethod
    def of(cls, conditions: Iterable[tuple[str, Dim, bool]]) -> Path:
        """Return the path with these answers."""
        made = cls(())
        made.guides, made.supposes = True, False
        for relation, d, answer in conditions:
            d = made._now(d)
            if type(d) is Dim:
                made._assume(relation, d, answer)
        return made

    def fits(self, extents: Mapping[Atom, Any]) -> bool:
        """Return whether all answers hold for these extents, ints or Dims."""
        try:
            return all(holds(relation, d.substituted(extents)) is answer for relation, d, answer in self.conditions)
        except ZeroDivisionError:
            return False

    def follow(self, extents: Mapping[Atom, int]) -> dict[Atom, int]:
        """Return these extents; those that the answers determine are computed from the others."""
        return {s: as_number(self.values[s], extents) if s in self.values else n for s, n in extents.items()}

    def number(self, d: Any) -> int:
        """Return a number for `d`: each possible one on some path if they are few, else a few samples."""
        d = self._now(d)
        if type(d) is not Dim:
            return int(d)
        if d in self._numbers:
            return self._numbers[d]
        low, high = self._bounds(d)
        few = high - low < FEW
        if not (self.supposes or few):
            raise UnknownExtent(None, None, "A number is needed in the place of an extent that is not known.")
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
        """Return the script's option at this point, or else the first one; the other options become forks."""
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
        atom, slope, offset = line  # the Dim is slope · atom + offset
        low, high = self._of_atom(atom)
        if relation == "==":
            if offset % slope == 0 and -offset // slope in (low, high):
                at_low = -offset // slope == low
                (self._low if at_low else self._high)[atom] = int(low + 1 if at_low else high - 1)
        elif (slope > 0) == holds:  # an upper bound
            limit = (-offset - 1) // slope if holds else offset // -slope
            self._high[atom] = int(min(high, limit))
        else:
            limit = offset // -slope + 1 if holds else -(offset // slope)
            self._low[atom] = int(max(low, limit))
        low, high = self._of_atom(atom)
        if low == high:
            self._solve(of_terms({(atom,): 1, (): -int(low)}))

    def _solve(self, d: Dim) -> None:
        """Solve `d == 0` for one of its symbols."""
        for monomial, c in reversed(d.terms):
            if len(monomial) == 1 and not monomial[0].quotient and (abs(c) == 1 or _line(d)):
                rest = d - of_terms({monomial: c})
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
        """Return the smallest and largest possible value of `d`."""
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
        """Return whether the coefficients have a common divisor that does not divide the constant, so that it is never 0."""
        constant = sum([c for monomial, c in d.terms if not monomial])
        return constant % math.gcd(*[c for monomial, c in d.terms if monomial]) != 0


class Guide(Path):
    """The path for the extents `at` a call."""

    guides = True

    def __init__(self, at: Mapping[Atom, int], shows: bool = False) -> None:
        super().__init__(())
        self.at, self.shows = at, shows

    def holds(self, relation: str, d: Any) -> bool:
        """Return whether `d` is 0, or negative, at the call."""
        if (known := self._known(relation, d)) is not None:
            return known
        if not d.symbols <= self.at.keys():  # symbols of another trace, with whose shapes this trace's are compared
            return relation != "==" and generic(relation, d)
        answer = self._answers[relation, d] = holds(relation, as_number(d, self.at))
        return answer

    def number(self, d: Any) -> int:
        """Return the value of `d` at the call, and make it a condition."""
        if type(d) is not Dim:
            return int(d)
        found = self._numbers[d] = as_number(d, self.at)
        return found


def _times(a: float, b: float) -> float:
    return 0.0 if a == 0 or b == 0 else a * b


def following(path: Path | None) -> setting:
    """Open a context in which the thread follows a path; None for none."""
    return setting(exploration=path)


def explored(
    function: Callable[[], T],
    refusals: tuple[type[Exception], ...],
    most: int = MOST,
    enough: int = MOST,
    guides: bool = False,
    shows: bool = False,
    supposes: bool = True,
    certain: tuple[type[Exception], ...] = (),
) -> tuple[list[tuple[T, Path]], list[Exception]]:
    """Return the results of `function` with their paths, and the errors of paths that raised a refusal.

    Errors of the classes `certain` are raised at once, since other paths would raise them, too.

    Paths with few unusual answers come first. At most `most` paths are run, and no more once `enough` have given a result. A
    path that gets further with another last answer is gone on with, and does not count. For `guides`, `shows` and `supposes`
    see `Path`.
    """
    found: list[tuple[T, Path]] = []
    refused: list[Exception] = []
    waiting: deque[tuple[Any, ...]] = deque([()])
    doubted: deque[tuple[Any, ...]] = deque()  # scripts that change the last answer of a failed path
    left = most
    while (waiting or doubted) and left and len(found) < enough and len(refused) < MOST:
        doubting = bool(doubted) and (left % 2 == 1 or not waiting)
        path = Path(doubted.popleft() if doubting else waiting.popleft())
        path.guides, path.shows, path.supposes = guides, shows, supposes
        further = False
        try:
            with following(path):
                found.append((function(), path))
        except certain:
            raise
        except refusals as error:
            refused.append(error)
            further = doubting and len(path.taken) > len(path.script)  # it was that answer, and now it is a later one
            if not found and path.forks:
                (doubted.appendleft if further or not path.script else doubted.append)(path.forks.pop())
        waiting += path.forks
        left -= not further
    return found, refused


def first_way(function: Callable[[], T], certain: tuple[type[Exception], ...] = ()) -> tuple[T, Path]:
    """Return the result of `function` on the first path that succeeds, and that path; see `explored`.

    Code that uses extents as numbers fails on None. So if all paths fail, it is run again with Dims.
    """
    refused: list[Exception] = []
    for shows in (False, True):
        symbols = Atom.made
        ways, errors = explored(function, (Exception,), most=TRIALS, enough=1, guides=True, shows=shows, certain=certain)
        if ways:
            return ways[0]
        refused += errors
        if Atom.made == symbols:
            break
    raise refused[0]


def agreed(extents: Sequence[tuple[Any, Path]]) -> Any:
    """Return the extent on which all paths agree; None if there is none."""
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
    """Return an extent with a path's values; None for a division by 0."""
    try:
        return extent.substituted(path.values) if type(extent) is Dim else int(extent)
    except ZeroDivisionError:
        return None
