"""The rows: a file each, or one of several that a file makes, named `file:which`."""

from importlib import import_module
from typing import Any


def find(name: str) -> Any:
    """The row of this name, with what its file or its maker says of it."""
    file, _, which = name.partition(":")
    module = import_module(f"benchmarks.rows.{file}")
    if not which:
        return module
    row = module.of(which)
    row.__name__ = f"{module.__name__}:{which}"
    return row
