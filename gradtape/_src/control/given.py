"""Arguments that are no tensors and have a type, such as Datasets: one trace serves all of a type, and each call has its own."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping
from typing import Any

from gradtape._src.core.per_thread import PerThread
from gradtape._src.core.spec import TypeSpec


class GivenSpec(TypeSpec):
    """Base of the specs of such arguments."""

    __slots__ = ()

    def standing_for(self, given: Any) -> Given:
        """Return what stands in a trace for `given` and all that are of this spec."""
        raise NotImplementedError


class Given:
    """Base of such arguments."""

    @property
    def _type_spec(self) -> GivenSpec:
        raise NotImplementedError


class _OfCall(PerThread, replica="arguments"):
    """The arguments of the calls that this thread makes, by the id of what stands for them."""

    arguments: Mapping[int, Given] = {}


_of_call = _OfCall()


def of_calls() -> Mapping[int, Given]:
    """Return the arguments of the calls under way."""
    return _of_call.arguments


@contextlib.contextmanager
def calling(arguments: Mapping[int, Given]) -> Iterator[None]:
    """Open a context for calls with these arguments; a thread that works for a call opens it again."""
    outer = _of_call.arguments
    _of_call.arguments = arguments
    try:
        yield
    finally:
        _of_call.arguments = outer
