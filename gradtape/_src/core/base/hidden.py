"""Attributes for gradtape's own use, which `dir()` and the reference leave out."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

C = TypeVar("C", bound=type)


def hides(names: str) -> Callable[[C], C]:
    """Return a class decorator that hides these names from `dir()`, with those of the bases and `_private` ones."""

    def decorate(cls: C) -> C:
        _hidden[cls] = frozenset(names.split())
        cls.__dir__ = _shown  # type: ignore[assignment, method-assign]
        return cls

    return decorate


def hidden(cls: type) -> frozenset[str]:
    """Return the hidden names of a class and its bases."""
    return frozenset().union(*[_hidden.get(owner, frozenset()) for owner in cls.__mro__])


def _shown(self: Any) -> list[str]:
    unseen = hidden(type(self))
    named = [name for name in object.__dir__(self) if name not in unseen]
    return [name for name in named if not name.startswith("_") or name.startswith("__")]


_hidden: dict[type, frozenset[str]] = {}
