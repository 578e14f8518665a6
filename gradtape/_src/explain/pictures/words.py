"""The words of the pictures: sizes, shapes, lines, names and tables."""

from __future__ import annotations

import dis
import io
from collections.abc import Sequence
from typing import Any

from rich import box
from rich.console import Console, RenderableType
from rich.table import Table
from rich.text import Text

from gradtape._src.core.platform import places
from gradtape._src.core.programs.journal import Line
from gradtape._src.explain import source as text

WIDTH = 130


def size(count: float) -> str:
    """Format a number of bytes in units of 1,024: "12 B", "3.4 KB"."""
    for unit in ("B", "KB", "MB", "GB"):
        if count < 1024:
            return f"{count:.0f} {unit}" if unit == "B" or count >= 100 else f"{count:.1f} {unit}"
        count /= 1024
    return f"{count:,.1f} TB"


def place(file: str | None, line: int | None) -> str:
    """Format a user's line with the base name of its file, or the name of its notebook cell."""
    return "?" if file is None or line is None else places.place(file, line, short=True)


def described(aval: Any) -> str:
    """Format an Aval or several; "?" for an unknown one."""
    if aval is None:
        return "?"
    return ", ".join(map(repr, aval)) if isinstance(aval, tuple) else repr(aval)


def called(line: Line) -> str | None:
    """Return the name to which a statement assigns the instruction's value: `w` of `w = tf.Variable(…)`, `self.w`, or None."""
    whole, (_, last, _, stop), (code, offset) = text.statement(line), text.position(line), line
    if whole is None and code is not None:  # without source, the name to which the next instruction stores the value
        following = next((i for i in dis.get_instructions(code) if i.offset > offset), None)
        return str(following.argval) if following is not None and following.opname in text.STORES else None
    # an expression ends at the same place as its outermost call
    found = [name for name, value in text.stores(whole) if (value.end_lineno, value.end_col_offset) == (last, stop)]
    return found[0] if len(found) == 1 and "[" not in found[0] else None


def variable_name(variable: Any) -> str:
    """Return the given name of a variable, else its name in the user's code."""
    name = str(variable.name).removesuffix(":0")
    return (called(variable._made) or name) if name.startswith("Variable") else name


def short(written: str, longest: int) -> str:
    """Shorten a long text, with "…" at its end."""
    return written if len(written) <= longest else f"{written[: longest - 1]}…"


def table(title: str, columns: Sequence[str], rows: Sequence[Sequence[str]]) -> Table:
    """Create a rich table; a column whose name begins with ">" is aligned to the right."""
    made = Table(title=Text(title), title_justify="left", box=box.SIMPLE_HEAD, pad_edge=False)
    for name in columns:
        made.add_column(name.lstrip(">"), justify="right" if name.startswith(">") else "left", no_wrap=name != "needed by")
    for row in rows:
        made.add_row(*[Text(cell) for cell in row])  # plain text: source code may contain brackets, which are markup
    return made


def rendered(made: RenderableType) -> str:
    """Render a rich table, or an object that returns one, as plain text."""
    out = io.StringIO()
    Console(file=out, width=WIDTH, color_system=None, legacy_windows=False).print(made)
    return "\n".join(line.rstrip() for line in out.getvalue().splitlines()).rstrip()
