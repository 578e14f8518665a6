"""The name of a public function, and the signature of a wrapped one, read off the function when somebody asks for it."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any, TypeVar

F = TypeVar("F", bound=Callable[..., Any])


def known_as(name: str) -> Callable[[F], F]:
    """Give a function the name by which users know it: Python's own messages about arguments say it."""

    def named(function: F) -> F:
        function.__name__ = function.__qualname__ = name
        return function

    return named


class DeferredSignature(inspect.Signature):
    """The signature of `function`, which is inspected at the first look.

    `inspect.signature` follows `__wrapped__` and `inspect.getfullargspec` does not, but both take a `__signature__`. There are
    a thousand public functions, and most are never asked.
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
        """The annotation of the result."""
        return self._found().return_annotation

    def replace(self, **changes: Any) -> Any:
        """Return a copy of the signature with these parts replaced."""
        return self._found().replace(**changes)

    def __reduce__(self) -> Any:
        return self._found().__reduce__()
