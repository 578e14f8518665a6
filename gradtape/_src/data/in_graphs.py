"""Deferral of datasets that depend on tensors of a TensorFlow 1 graph."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import ParamSpec, TypeVar

from gradtape._src.core.base import hooks, naming

P = ParamSpec("P")
R = TypeVar("R")


def in_graphs(method: Callable[P, R]) -> Callable[P, R]:
    """Wrap a method that returns a dataset, so that a graph under construction defers the call."""

    @functools.wraps(method)
    def call(*args: P.args, **kwargs: P.kwargs) -> R:
        if naming.open_graphs:
            made: R = hooks.graphs.dataset(method, args, kwargs)
            return made
        return method(*args, **kwargs)

    return call
