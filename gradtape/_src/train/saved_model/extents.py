"""Open extents of a signature as JSON data: sums of products of numbered symbols, and floored quotients."""

from __future__ import annotations

import math
import string
from collections.abc import Mapping, Sequence
from typing import Any

from gradtape._src.core.values.dim import Atom, Dim
from gradtape._src.core.values.ways import Path

Point = tuple[Any, ...]  # the value of each numbered extent: ints, or Dims in a function with open extents
LARGEST = 1 << 62
DEEPEST = 32  # maximum nesting of quotients
CANDIDATES = (3, 5, 7, 11, 13, 2, 1, 8, 64)


def encoded(extent: Any, numbers: Mapping[Atom, int]) -> Any:
    """Convert an extent to JSON data; `numbers` maps symbols to their numbers."""
    if type(extent) is not Dim:
        return int(extent)
    return {"extent": [[c, [_encoded(atom, numbers) for atom in monomial]] for monomial, c in extent.terms]}


def _encoded(atom: Atom, numbers: Mapping[Atom, int]) -> Any:
    return numbers[atom] if atom.quotient is None else [encoded(part, numbers) for part in atom.quotient]


def at(given: Any, point: Point, depth: int = 0) -> Any:
    """Evaluate JSON data as an extent; ValueError if they are invalid, or the result is beyond 64 bits."""
    if type(given) is int:
        return given
    if type(given) is not dict or list(given) != ["extent"] or depth > DEEPEST:
        raise ValueError(f"{given!r} is no extent")
    total: Any = 0
    for coefficient, atoms in given["extent"]:
        if type(coefficient) is not int:
            raise ValueError(f"{given!r} is no extent")
        total += coefficient * math.prod([_atom(atom, point, depth) for atom in atoms])
    if type(total) is int and abs(total) > LARGEST:
        raise ValueError(f"the open extents {list(point)} give {total}, which is not a number of 64 bits")
    return total


def _atom(given: Any, point: Point, depth: int) -> Any:
    if type(given) is int and 0 <= given < len(point):
        return point[given]
    if type(given) is not list or len(given) != 2:
        raise ValueError(f"{given!r} names an extent that is not among {len(point)}")
    x, y = [at(part, point, depth + 1) for part in given]
    if type(y) is int and y == 0:
        raise ValueError("an open extent is divided by 0")
    return x // y


def holds(condition: Any, point: Point) -> bool:
    """Return whether extents meet a condition, in JSON data: that an expression is, or is not, 0 or negative."""
    relation, extent, answer = condition
    value = at(extent, point)
    return (value == 0 if relation == "==" else value < 0) is answer


def spoken(condition: Any) -> str:
    """Format a condition as a sentence, with the extents called a, b, …"""
    relation, extent, answer = condition
    return f"{_text(extent)} is {'' if answer else 'not '}{'0' if relation == '==' else 'negative'}"


def _text(extent: Any) -> str:
    if type(extent) is int:
        return str(extent)
    terms = []
    for c, atoms in extent["extent"]:
        factors = [*([] if abs(c) == 1 and atoms else [str(abs(c))]), *map(_letter, atoms)]
        terms.append(("-" if c < 0 else "") + " * ".join(factors))
    return " + ".join(terms).replace("+ -", "- ")


def _letter(atom: Any) -> str:
    if type(atom) is int:
        return string.ascii_letters[atom % 52]
    x, y = [_text(part) if type(part) is int else f"({_text(part)})" for part in atom]
    return f"({x} // {y})"


def example(way: Path, symbols: Sequence[Atom]) -> tuple[int, ...] | None:
    """Return extents with which a function goes this way; None if none of the candidates do."""
    known = {c for d in way.asked for _, c in d.terms}
    candidates = [*CANDIDATES, *sorted({abs(c) for c in known if 0 < abs(c) < LARGEST} - {*CANDIDATES})]
    for first in candidates:
        for second in candidates:
            for place in range(len(symbols) + 1):
                free = {s: second if i == place else first for i, s in enumerate(symbols)}
                found = way.follow(free)
                if way.fits(found):
                    return tuple([found[s] for s in symbols])
    return None
