"""TensorFlow's distribution, for libraries that ask `importlib.metadata` for its version while the door is open."""

from __future__ import annotations

from collections.abc import Iterable
from importlib.metadata import Distribution, DistributionFinder
from pathlib import PurePath
from typing import Any

from gradtape._src.compat.door.version import VERSION


class TensorFlow(Distribution):
    """A distribution without files."""

    def read_text(self, filename: str) -> str | None:
        """Return the text of METADATA, the only file."""
        return f"Metadata-Version: 2.1\nName: tensorflow\nVersion: {VERSION}\n" if filename == "METADATA" else None

    def locate_file(self, path: Any) -> Any:
        return PurePath(path)


def distributions(context: DistributionFinder.Context | None = None) -> Iterable[Distribution]:
    """Return the distribution if `context` has its name, or no name."""
    name = context.name if context is not None else None
    return [TensorFlow()] if name is None or name.lower() == "tensorflow" else []
