"""How the pictures write sizes, shapes, lines and tables."""

from __future__ import annotations

import io
import os
from collections.abc import Sequence
from typing import Any

from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

WIDTH = 130


def size(count: float) -> str:
    """A number of bytes: "12 B", "3.4 KB"; of 1,024."""
    for unit in ("B", "KB", "MB", "GB"):
        if count < 1024:
            return f"{count:.0f} {unit}" if unit == "B" or count >= 100 else f"{count:.1f} {unit}"
        count /= 1024
    return f"{count:,.1f} TB"


def place(file: str | None, line: int | None) -> str:
    """A line of the user's, by the file's own name; of a cell the cell's."""
    if file is None or line is None:
        return "?"
    return f"{file if file.startswith('<') else os.path.basename(file)}:{line}"


def shaped(shape: Sequence[int], dtype: str) -> str:
    """A dtype and a shape: `float32[3, 4]`."""
    return f"{dtype}{list(shape)}"


def described(aval: Any) -> str:
    """An Aval; of several what they are, and "?" where nothing is known."""
    if aval is None:
        return "?"
    return ", ".join(map(repr, aval)) if isinstance(aval, tuple) else repr(aval)


def table(title: str, columns: Sequence[str], rows: Sequence[Sequence[str]]) -> Table:
    """A rich table; a column whose name begins with ">" is set to the right."""
    made = Table(title=Text(title), title_justify="left", box=box.SIMPLE_HEAD, pad_edge=False)
    for name in columns:
        made.add_column(name.lstrip(">"), justify="right" if name.startswith(">") else "left", overflow="fold")
    for row in rows:
        made.add_row(*[Text(cell) for cell in row])  # not markup: source text may hold brackets
    return made


def table_text(title: str, columns: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """The same as plain text."""
    return rendered(table(title, columns, rows))


def rendered(made: Table) -> str:
    """A rich table as plain text."""
    out = io.StringIO()
    Console(file=out, width=WIDTH, color_system=None, legacy_windows=False).print(made)
    return "\n".join(line.rstrip() for line in out.getvalue().splitlines()).rstrip()
