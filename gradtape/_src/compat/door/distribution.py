"""TensorFlow's distribution under the door, for libraries that ask `importlib.metadata` for its version."""

from __future__ import annotations

from collections.abc import Iterable
from importlib.metadata import Distribution, DistributionFinder
from pathlib import PurePath
from typing import Any

from gradtape._src.compat.door.version import VERSION


class TensorFlow(Distribution):
    """A distribution without files."""

    def read_text(self, filename: str) -> str | None:
        """Return the text of METADATA, the only file of a distribution that is asked for here."""
        return f"Metadata-Version: 2.1\nName: tensorflow\nVersion: {VERSION}\n" if filename == "METADATA" else None

    def locate_file(self, path: Any) -> Any:
        """Return the path as it is."""
        return PurePath(path)


def distributions(context: DistributionFinder.Context | None = None) -> Iterable[Distribution]:
    """Return the distribution if `context` names it or no name at all."""
    name = context.name if context is not None else None
    return [TensorFlow()] if name is None or name.lower() == "tensorflow" else []
