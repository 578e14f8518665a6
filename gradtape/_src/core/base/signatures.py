"""The public name of a function, and the signature of a wrapped one, computed on demand."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any, TypeVar

F = TypeVar("F", bound=Callable[..., Any])


def known_as(name: str) -> Callable[[F], F]:
    """Give a function the name that users know, which Python's messages about arguments use."""

    def named(function: F) -> F:
        function.__name__ = function.__qualname__ = name
        return function

    return named


class DeferredSignature(inspect.Signature):
    """The signature of `function`, inspected on first use.

    `inspect.signature` follows `__wrapped__` and `inspect.getfullargspec` does not, but both accept a `__signature__`. Most of
    the thousand public functions are never inspected.
    """

    __slots__ = ("_function",)
    _function: Callable[..., Any]

    def __init__(self, function: Callable[..., Any]) -> None:
        self._function = function

    def _found(self) -> inspect.Signature:
        return inspect.signature(self._function)

    @property
    def parameters(self) -> Any:
        """The parameters, by name."""
        return self._found().parameters

    @property
    def return_annotation(self) -> Any:
        """The annotation of the return value."""
        return self._found().return_annotation

    def replace(self, **changes: Any) -> Any:
        """Return a copy of the signature with these parts replaced."""
        return self._found().replace(**changes)

    def __reduce__(self) -> Any:
        return self._found().__reduce__()
