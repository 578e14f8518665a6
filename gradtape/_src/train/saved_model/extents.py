"""Numbers that depend on extents which a signature leaves open, as polynomials that were found by tracing and verified.

A function with an open extent is traced for several values of it. A number that is not the same in all of these traces is written
as a polynomial of the extents: of degree 2 at most, and products of different extents besides. More traces are made than a
polynomial has coefficients, so the last ones verify it. A number that no such polynomial gives is an error: no number of one
trace can stand for another.
"""

from __future__ import annotations

import itertools
import random
from collections.abc import Iterator, Sequence
from fractions import Fraction
from typing import Any

Point = tuple[int, ...]  # a value for each open extent
Term = tuple[Fraction, tuple[int, ...]]  # a coefficient, and the numbers of the extents that are multiplied by it

VERIFIED_BY = 2  # so many traces more than an affine formula has coefficients
DEGREE = 2
PRODUCTS = 3  # what is of degree 2, and products of three and more different extents
COFACTORS = range(1, 12)
FIRST = 5  # the least extent that is traced
SPAN = 40
REMAINDERS = 4
LARGEST = 1 << 62


class Formula:
    """A polynomial of the open extents, with rational coefficients."""

    __slots__ = ("terms",)

    def __init__(self, terms: Sequence[Term]) -> None:
        self.terms = tuple(terms)

    def at(self, point: Point) -> int:
        """Return the number for these extents; ValueError if it is not whole, or beyond 64 bits."""
        total = Fraction(0)
        for coefficient, numbers in self.terms:
            for number in numbers:
                coefficient = coefficient * point[number]
            total += coefficient
        if total.denominator != 1 or abs(total) > LARGEST:
            raise ValueError(f"the open extents {list(point)} give {total}, which is not a whole number of 64 bits")
        return int(total)

    def encoded(self) -> dict[str, Any]:
        """Return the formula as JSON data."""
        return {"extent": [[c.numerator, c.denominator, list(numbers)] for c, numbers in self.terms]}

    @classmethod
    def decoded(cls, given: Any, count: int) -> Formula:
        """Return the formula that JSON data describe, of `count` extents; ValueError if they describe none."""
        terms = []
        for numerator, denominator, numbers in given:
            whole = [numerator, denominator, *numbers]
            if not all(type(n) is int and abs(n) < LARGEST for n in whole) or denominator < 1 or not _is_monomial(numbers):
                raise ValueError(f"{given!r} is no formula of extents")
            if not all(0 <= n < count for n in numbers):
                raise ValueError(f"{given!r} names an extent that is not among {count}")
            terms.append((Fraction(numerator, denominator), tuple(numbers)))
        return cls(terms)


def points(multiples: Sequence[int]) -> Iterator[Point]:
    """Yield points at which a function is traced, whose coordinates are multiples of these numbers and differ.

    Four points after each other have all four remainders of a division by 4: what follows from halves of extents that are
    rounded is no polynomial then, and cannot be taken for one.
    """
    chosen = random.Random(len(multiples))
    spans = [range(FIRST + r, FIRST + SPAN * (1 + len(multiples)), REMAINDERS) for r in range(REMAINDERS)]
    seen: set[Point] = set()
    for t in itertools.count():
        point = tuple([chosen.choice(spans[(t + k) % REMAINDERS]) * by for k, by in enumerate(multiples)])
        while point in seen or len(set(point)) < len(point):
            point = tuple([chosen.choice(spans[(t + k) % REMAINDERS]) * by for k, by in enumerate(multiples)])
        seen.add(point)
        yield point


def points_of_product(count: int, divisor: int) -> Iterator[Point]:
    """Yield different points, the product of whose coordinates is a multiple of a number, by factors that lie on any of them."""
    chosen = random.Random(count)
    seen: set[Point] = set()
    while True:
        point = [chosen.choice(COFACTORS) for _ in range(count)]
        for factor in _prime_factors(divisor):
            point[chosen.randrange(count)] *= factor
        if tuple(point) not in seen:
            seen.add(tuple(point))
            yield tuple(point)


def _prime_factors(number: int) -> list[int]:
    found, factor = [], 2
    while factor * factor <= number:
        while number % factor == 0:
            number //= factor
            found.append(factor)
        factor += 1
    return [*found, number] if number > 1 else found


def enough(count: int, degree: int = 1) -> int:
    """Return the number of points that determine and verify a formula of this degree."""
    return len(_monomials(count, degree)) + (VERIFIED_BY if degree == 1 else 1)


def _monomials(count: int, degree: int) -> list[tuple[int, ...]]:
    low = min(degree, DEGREE)
    found = [m for size in range(low + 1) for m in itertools.combinations_with_replacement(range(count), size)]
    if degree == PRODUCTS:
        found += [m for size in range(DEGREE + 1, count + 1) for m in itertools.combinations(range(count), size)]
    return found


def _is_monomial(numbers: Sequence[int]) -> bool:
    return len(numbers) <= DEGREE or len(set(numbers)) == len(numbers)


def fit(at: Sequence[Point], values: Sequence[int]) -> Formula | None:
    """Return the polynomial of least degree that gives `values` at these points, or None."""
    count = len(at[0])
    for degree in range(1, PRODUCTS + 1):
        monomials = _monomials(count, degree)
        if len(at) <= len(monomials):
            return None
        rows = [[_product(point, m) for m in monomials] for point in at]
        coefficients = _solved(rows, values)
        if coefficients is not None:
            return Formula([(c, m) for c, m in zip(coefficients, monomials, strict=True) if c])
    return None


def _product(point: Point, numbers: tuple[int, ...]) -> Fraction:
    product = Fraction(1)
    for number in numbers:
        product *= point[number]
    return product


def _solved(rows: list[list[Fraction]], values: Sequence[int]) -> list[Fraction] | None:
    """Return the one solution of these linear equations, or None if there is none or more than one."""
    table = [[*row, Fraction(int(value))] for row, value in zip(rows, values, strict=True)]
    unknowns = len(rows[0])
    for column in range(unknowns):
        pivot = next((r for r in range(column, len(table)) if table[r][column]), None)
        if pivot is None:
            return None
        table[column], table[pivot] = table[pivot], table[column]
        table[column] = [entry / table[column][column] for entry in table[column]]
        for r, row in enumerate(table):
            if r != column and row[column]:
                factor = row[column]
                table[r] = [a - factor * b for a, b in zip(row, table[column], strict=True)]
    if any(row[-1] for row in table[unknowns:]):
        return None
    return [row[-1] for row in table[:unknowns]]
