"""Columns that no row has in common, found together: so many products give a whole sparse matrix."""

from __future__ import annotations

from typing import Any

import numpy as np


def coloured(pattern: Any) -> np.ndarray:
    """Return a colour for each column of a CSR pattern, such that two columns with an entry in one row differ.

    Greedy, columns with many entries first: partial distance-2 colouring, algorithm 3.2 of Gebremedhin, Manne and Pothen,
    "What color is your Jacobian? Graph coloring for computing derivatives" (2005), in the order of Welsh and Powell (1967).
    """
    rows_of = pattern.tocsc()
    starts, rows = rows_of.indptr, rows_of.indices
    used: list[set[int]] = [set() for _ in range(pattern.shape[0])]  # of each row, the colours that its columns have
    colours = np.zeros(pattern.shape[1], np.int64)
    for column in np.argsort(-np.diff(starts), kind="stable").tolist():
        sets = [used[row] for row in rows[starts[column] : starts[column + 1]]]
        colour = 0
        while any(colour in taken for taken in sets):
            colour += 1
        colours[column] = colour
        for taken in sets:
            taken.add(colour)
    return colours
