"""Weak references to the objects of methods, so that a traced method does not keep its object alive."""

from __future__ import annotations

import functools
import weakref
from collections.abc import Callable
from typing import Any


def reference(instance: Any, forget: Callable[[Any], object] | None = None) -> Callable[[], Any]:
    """Return a weak reference with the callback `forget`; a strong one for an object that does not allow weak ones."""
    try:
        return weakref.ref(instance, forget)
    except TypeError:
        return functools.partial(_itself, instance)


def _itself(instance: Any) -> Any:
    return instance


class Gone:
    """The substitute for the deleted object of a method."""

    def __init__(self, method: str) -> None:
        self._method = method

    def __getattr__(self, name: str) -> Any:
        raise AttributeError(
            f"'NoneType' object has no attribute {name!r}: the object whose method {self._method} was is gone. Keep the object, "
            "not the method alone."
        )
