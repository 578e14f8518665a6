"""The rows: one in each file, or several created by a file, named `file:which`."""

from importlib import import_module
from typing import Any


def find(name: str) -> Any:
    """Return the row of this name, with the attributes of its file or its builder."""
    file, _, which = name.partition(":")
    module = import_module(f"benchmarks.rows.{file}")
    if not which:
        return module
    row = module.of(which)
    row.__name__ = f"{module.__name__}:{which}"
    return row
