"""Decompression: each entry of a matrix as a sum of elements of its products with sums of columns, or of rows."""

from __future__ import annotations

from typing import Any

import numpy as np

MOST_TERMS = 16  # terms of an entry on average, above which substitution is not worth it
MOST_ROUNDS = 100  # rounds of substitution, at most


def _places(shape: tuple[int, int], rows: np.ndarray, columns: np.ndarray, colours: np.ndarray, mode: str) -> list[np.ndarray]:
    """Return the positions of the entries in the flattened products, of columns and of rows; -1 for an entry that has none.

    For a symmetric matrix: the positions of the entries, and of their mirror images.
    """
    height, width = shape
    if mode == "forward":
        return [colours[columns] * height + rows]
    if mode == "reverse":
        return [colours[rows] * width + columns]
    if mode != "both":
        return [colours[columns] * height + rows, colours[rows] * height + columns]
    forward, reverse = colours[:width][columns], colours[width:][rows]
    count = int(colours[:width].max(initial=-1)) + 1  # products of columns come first
    behind = count * height + (reverse - count) * width + columns
    return [np.where(forward < 0, -1, forward * height + rows), np.where(reverse < 0, -1, behind)]


def terms_of(
    shape: tuple[int, int], rows: np.ndarray, columns: np.ndarray, colours: np.ndarray, mode: str
) -> tuple[np.ndarray, np.ndarray, np.ndarray] | None:
    """Return the terms whose sums are the entries: the entry, position in the products and sign of each; None if impossible.

    An entry that is alone at a position of a product equals that element. For "substitution", an entry may also be the element
    minus the entries found before: its terms are the position, and the terms of those entries with the opposite sign.
    """
    readings = _places(shape, rows, columns, colours, mode)
    mirrored = mode in ("symmetric", "substitution")
    unknown = np.arange(len(rows))
    if mirrored:
        low, high = np.minimum(rows, columns), np.maximum(rows, columns)
        unknown = np.unique(low * shape[1] + high, return_inverse=True)[1]
    # the unknowns at each position; a mirror image has its own position, but is the same unknown
    places, members = (readings[0], unknown) if mirrored else (np.concatenate(readings), np.tile(unknown, len(readings)))
    used = places >= 0
    numbers, places = np.unique(places[used], return_inverse=True)
    members, size, count = members[used], len(numbers), int(unknown.max(initial=-1)) + 1
    read = np.full(count, -1)
    rounds: list[np.ndarray] = []
    live = np.ones(len(places), bool)
    while (read < 0).any():
        left = np.bincount(places[live], minlength=size)
        alone = np.flatnonzero(live & (left[places] == 1))[::-1]  # reversed, so that the first of two positions wins
        if not len(alone) or len(rounds) == (MOST_ROUNDS if mode == "substitution" else 1):
            return None
        read[members[alone]] = places[alone]
        rounds.append(np.unique(members[alone]))
        live = read[members] < 0
    if len(rounds) <= 1:
        return np.arange(len(rows)), numbers[read[unknown]], np.ones(len(rows), np.int64)
    matrix = _unrolled(places, members, read, rounds, size)[unknown].tocoo()
    return matrix.row.astype(np.int64), numbers[matrix.col], matrix.data.astype(np.int64)


def _unrolled(places: np.ndarray, members: np.ndarray, read: np.ndarray, rounds: list[np.ndarray], size: int) -> Any:
    """Return the matrix of ±1 from positions to unknowns: each unknown subtracts those of earlier rounds at its position."""
    from scipy import sparse

    count = len(read)
    at = np.full(size, -1)
    at[read] = np.arange(count)  # the unknown that is read at a position
    others = (at[places] >= 0) & (at[places] != members)
    ones = np.ones(int(others.sum()), np.int8)
    known = sparse.csr_matrix((ones, (at[places[others]], members[others])), (count, count))
    terms = term = sparse.csr_matrix((np.ones(count, np.int8), (np.arange(count), read)), (count, size))
    for _ in rounds[1:]:
        term = -(known @ term)
        terms = terms + term
    return terms
