"""Counts of the traces that TensorFlow would have made of a function, and the warning about them.

Here each shape is a trace of its own. TensorFlow traces once for an extent that is open, in an `input_signature` or a TensorSpec,
or because `reduce_retracing` opened it where two calls differed; for variables of one shape; and for numbers that are equal.
"""

from __future__ import annotations

import inspect
import weakref
from collections.abc import Sequence
from types import CodeType
from typing import Any

from gradtape._src.control.arguments import Arguments
from gradtape._src.core.aval import Aval
from gradtape._src.core.errors import internal
from gradtape._src.core.shape import TensorShape
from gradtape._src.core.spec import TensorSpec

NUMBERS = (bool, int, float, complex)
MANY_TRACES = 5  # so many traces in so many calls are worth a warning
MANY_WARNINGS = 2


class Calls:
    """The number of calls of one code from outside of functions, and of traces for these."""

    def __init__(self) -> None:
        self.since = self.counted = self._traces = self._warnings = 0

    def traced_too_often(self) -> bool:
        """Note a trace; whether so many of the last calls were traced that a warning is due. `counted` are those calls."""
        self._traces += 1
        if self._traces % MANY_TRACES:
            return False
        self.counted, self.since = max(self.since, MANY_TRACES), 0
        due = self.counted < 2 * MANY_TRACES and self._warnings < MANY_WARNINGS
        self._warnings += due
        return due


_calls: weakref.WeakKeyDictionary[CodeType, Calls] = weakref.WeakKeyDictionary()


def calls_of(function: Any) -> Calls:
    """Return the Calls of a Python function, shared by all functions of its code. A library's does not."""
    code = getattr(getattr(inspect.unwrap(function), "__func__", function), "__code__", None)
    if code is None or internal[code.co_filename]:
        return Calls()
    return _calls.setdefault(code, Calls())


class Signatures:
    """The signatures for which TensorFlow has traced a function, each as what is no shape, and the shapes of the tensors."""

    def __init__(self, one: bool, relaxes: bool) -> None:
        self._one, self._relaxes = one, relaxes
        self._known: list[tuple[Any, list[TensorShape]]] = []

    def is_new(self, arguments: Arguments, specs: Sequence[TensorSpec] | None = None) -> bool:
        """Return whether TensorFlow would trace for these arguments, whose tensors may have the shapes of `specs`, and note
        it.
        """
        if self._one and self._known:
            return False
        rest = _without_shapes(arguments)
        given = [n.aval.tensor_shape for n in arguments.nodes] if specs is None else [spec.shape for spec in specs]
        alike = [shapes for known, shapes in self._known if known == rest]
        if any(all(new.is_subtype_of(old) for new, old in zip(given, shapes, strict=True)) for shapes in alike):
            return False
        for shapes in alike if self._relaxes else ():
            pairs = zip(given, shapes, strict=True)
            given = [new.most_specific_common_supertype([old]) or TensorShape(None) for new, old in pairs]
        self._known.append((rest, given))
        return True


def _without_shapes(arguments: Arguments) -> Any:
    spec, key = arguments.key
    found: list[Any] = []
    for item in key:
        if isinstance(item, Aval):
            found.append(item.dtype)
        else:
            found.append(item[1] if item[0] in NUMBERS else item)
    return spec, tuple(found)
