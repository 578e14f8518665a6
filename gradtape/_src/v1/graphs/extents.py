"""Attributes at session time: the ints in them that are known only when a graph runs."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from gradtape._src.control.bounded_scan import SCAN, Scan
from gradtape._src.core.aval import LARGE, PROVISIONAL, Aval
from gradtape._src.core.errors import InvalidArgumentError
from gradtape._src.core.op import Attributes, Op
from gradtape._src.ops.array.joining import split_sizes
from gradtape._src.v1.graphs.kinds import Extent

COEFFICIENT = LARGE // 2
_LONG = re.compile(r"\d{8,}")


class UnknownExtent(InvalidArgumentError):
    """An extent that is not known when the graph runs."""


def open_ints(value: Any) -> bool:
    """Return whether an attribute's value may hold what is only known when the graph runs."""
    if type(value) is tuple:
        return any(map(open_ints, value))
    return isinstance(value, (int, np.integer)) and (type(value) is Extent or int(value) >= LARGE)


def decoded(op: Op, attrs: Attributes, after: Sequence[Aval], extent: Callable[[Extent], int]) -> Attributes:
    """Return the attributes of `op` on inputs of the Avals `after`; `extent` finds the value of an int that knows its tensor."""
    if not any(map(open_ints, attrs)):
        return attrs
    if op is SCAN and (rows := Scan(*attrs).rows(after)) is not None:
        attrs = Scan(*attrs)._replace(length=rows)

    def one(value: Any) -> Any:
        if type(value) is tuple:
            return tuple(map(one, value))
        return extent(value) if type(value) is Extent else known(value, op.type) if type(value) is int else value

    if op.type == "SplitV":
        sizes, axis = attrs
        return (split_sizes(one(sizes), after[0].shape[axis]), axis)
    return tuple(map(one, attrs))


def known(value: int, what: str) -> int:
    """Return an int that does not come from an unknown extent; raise InvalidArgumentError for one that does."""
    if value >= LARGE and is_provisional(value):
        raise UnknownExtent(
            None,
            None,
            f"{what} depends on an unknown extent: compute it from tf.shape, or give the placeholders their shapes. [Op:{what}]",
        )
    return value


def is_provisional(value: int) -> bool:
    """Return whether an int was computed from the number that stands for an unknown extent while a graph is built.

    It is a polynomial in that number with small coefficients.
    """
    digits = 0
    while value:
        digit = value % PROVISIONAL
        if digit > PROVISIONAL // 2:
            digit -= PROVISIONAL
        if abs(digit) > COEFFICIENT:
            return False
        digits += 1
        value = (value - digit) // PROVISIONAL
    return digits > 1


def spoken(error: BaseException) -> None:
    """Write ? into an error's message where a number stands for an extent that is not known."""

    def plain(text: Any) -> Any:
        return (
            _LONG.sub(lambda found: "?" if is_provisional(int(found[0])) else found[0], text) if isinstance(text, str) else text
        )

    if _LONG.search(str(error)):
        error.args = tuple(map(plain, error.args))
        if hasattr(error, "message"):
            error.message = plain(error.message)
