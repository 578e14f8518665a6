"""Sources with random access: `shuffle`, `take` and the like move row numbers, and `batch` gathers rows at once."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from gradtape._src.data.structure import LEAF, Element, Nest


class Slices:
    """The rows of arrays along their first axis."""

    def __init__(self, arrays: tuple[Any, ...], how: Nest) -> None:
        self.arrays, self.how = arrays, how

    def element(self, row: int) -> Element:
        """Return the element that is row number `row`."""
        return tuple([None if array is None else array[row, ...] for array in self.arrays]), self.how

    def gathered(self, rows: Sequence[int]) -> Element:
        """Gather several rows as one batch."""
        where = np.array(rows, np.intp)
        return tuple([None if array is None else array[where] for array in self.arrays]), self.how


class Numbers:
    """Rows that equal their numbers, for `range`."""

    def __init__(self, dtype: np.dtype) -> None:
        self.dtype = dtype

    def element(self, row: int) -> Element:
        """Return the number as an element."""
        return (np.array(row, self.dtype),), LEAF

    def gathered(self, rows: Sequence[int]) -> Element:
        """Gather several numbers as one batch."""
        return (np.array(rows, self.dtype),), LEAF


Rows = Slices | Numbers
