"""A line of the user's in words: its file and number, or its cell of a notebook."""

from __future__ import annotations

import os
import re
import sys


def place(file: str | None, number: int | None, *, short: bool = False) -> str:
    """Return `file:number`, and for a notebook's cell `In [3], line 2`; `short` leaves the folder out."""
    cell = _cell(file) if file else None
    if cell:
        return f"{cell}, line {number}"
    return f"{os.path.basename(file) if short and file and not file.startswith('<') else file}:{number}"


def nearest(file: str | None, number: int | None, known: str | None) -> str:
    """Return a line by the path from here to its file, if that is below; of the file that is `known` by its number alone."""
    if file is None or _cell(file):
        return place(file, number)
    if file == known:
        return f"line {number}"
    return place(os.path.relpath(file) if file.startswith(os.getcwd() + os.sep) else file, number)


def _cell(file: str) -> str | None:
    """Return `In [3]` for the file that IPython made for its third input. None outside of IPython, and for other files."""
    shell = getattr(sys.modules.get("IPython"), "get_ipython", lambda: None)()
    known = getattr(getattr(shell, "compile", None), "format_code_name", None)
    named = known(file) if known else None
    return re.sub(r"\s*\[", " [", named[1]) if named else None
