"""The knowledge of an op's results before a graph runs, where shapes depend on values: it is tried on some."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from gradtape._src.core.aval import LARGE, Aval, aval
from gradtape._src.core.op import Attributes, Op
from gradtape._src.core.program import Node
from gradtape._src.core.shape import PROVISIONAL

SAMPLE = 7  # the extent, for the one that is not known, of arrays on which an op is tried


def tried(op: Op, nodes: Sequence[Node], attrs: Attributes) -> Aval | list[Aval]:
    """Return the Aval of the result of `op`, or those of its several results: their first extents are not known.

    A result that has as many rows as an input for ones and for zeros has as many in general.
    """
    ones = [np.full([SAMPLE if e >= LARGE else e for e in n.aval.shape], _one(n.aval), n.aval.dtype) for n in nodes]
    results = op.run(ones, attrs)
    if not isinstance(results, tuple):
        return _aval(results)
    others = op.run([np.full_like(x, b"" if x.dtype.hasobject else 0) for x in ones], attrs)
    open_extents = {e for n in nodes for e in n.aval.shape if e >= LARGE}
    rows = open_extents.pop() if len(open_extents) == 1 else PROVISIONAL
    extents = {SAMPLE: rows} | {e: e for n in nodes for e in n.aval.shape[:1] if 1 < e < LARGE}
    known = []
    for some, other in zip(map(np.asarray, results), others, strict=True):
        same = some.ndim and some.shape[:1] == np.shape(other)[:1]
        known.append(_aval(some, extents.get(len(some), PROVISIONAL) if same else PROVISIONAL))
    return known


def _one(of: Aval) -> Any:
    return b"1" if of.dtype.hasobject else 1


def _aval(result: Any, rows: int = PROVISIONAL) -> Aval:
    array = np.asarray(result)
    rest = [PROVISIONAL if extent == SAMPLE else extent for extent in array.shape[1:]]
    return aval((rows, *rest) if array.ndim else (), array.dtype)
