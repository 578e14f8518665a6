"""Messages for a terminal, with lines broken between words."""

from __future__ import annotations

import logging
import os
import sys
import textwrap
import unicodedata
from typing import TextIO


def folded(text: str, stream: TextIO) -> str:
    """Return a text with lines folded to the width of the terminal behind `stream`; unchanged without a terminal."""
    try:
        width = int(os.environ.get("COLUMNS", 0)) or os.get_terminal_size(stream.fileno()).columns if stream.isatty() else 0
    except (OSError, ValueError):  # a stream without a descriptor, or a closed one
        width = 0
    return "\n".join([_fold(line, width) for line in text.split("\n")]) if width else text


def _fold(line: str, width: int) -> str:
    start = line[: len(line) - len(line.lstrip())]
    if line[len(start) :].startswith(("+", "-", "@@")):  # a diff is code to copy
        return line
    padded = "".join([letter + "\0" if unicodedata.east_asian_width(letter) in "WF" else letter for letter in line])  # two wide
    return textwrap.fill(
        padded, width, subsequent_indent=start + "  ", break_long_words=False, break_on_hyphens=False, drop_whitespace=True
    ).replace("\0", "")


class Folding(logging.Filter):
    """Folds messages that Python itself writes to the terminal; those of a program's own handlers are left alone."""

    def filter(self, record: logging.LogRecord) -> bool:
        """Accept each record; fold it if it has no handler."""
        if sys.stderr is not None and not logging.getLogger(record.name).hasHandlers():
            record.msg, record.args = folded(record.getMessage(), sys.stderr), ()
        return True
