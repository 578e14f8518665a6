"""The text of a source line for users: file and number, or a notebook's cell."""

from __future__ import annotations

import os
import re
import sys


def place(file: str | None, number: int | None, *, short: bool = False) -> str:
    """Return `file:number`, or `In [3], line 2` for a notebook's cell; `short` omits the folder."""
    cell = _cell(file) if file else None
    if cell:
        return f"{cell}, line {number}"
    return f"{os.path.basename(file) if short and file and not file.startswith('<') else file}:{number}"


def nearest(file: str | None, number: int | None, known: str | None) -> str:
    """Return a line with a relative path if its file is below the current folder; by its number alone if the file is `known`."""
    if file is None or _cell(file):
        return place(file, number)
    if file == known:
        return f"line {number}"
    return place(os.path.relpath(file) if file.startswith(os.getcwd() + os.sep) else file, number)


def _cell(file: str) -> str | None:
    """Return `In [3]` for the file that IPython made for its third input; None for any other file."""
    shell = getattr(sys.modules.get("IPython"), "get_ipython", lambda: None)()
    known = getattr(getattr(shell, "compile", None), "format_code_name", None)
    named = known(file) if known else None
    return re.sub(r"\s*\[", " [", named[1]) if named else None
