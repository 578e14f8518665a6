"""The project's data for the site, from `pyproject.toml`."""

import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
_PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
REPOSITORY = _PROJECT["urls"]["Repository"]
VERSION = _PROJECT["version"]


def source_link(path: str, line: int | None = None) -> str:
    """Return the address of a file of the repository, or of one of its lines."""
    return f"{REPOSITORY}/blob/main/{path}" + (f"#L{line}" if line else "")
