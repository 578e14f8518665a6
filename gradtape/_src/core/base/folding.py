"""Text for a terminal: lines that end at words, and not where the screen ends."""

from __future__ import annotations

import logging
import os
import sys
import textwrap
from typing import TextIO


def folded(text: str, stream: TextIO) -> str:
    """Return a text with its lines folded at the width of the terminal behind `stream`; as it is where there is none."""
    try:
        width = os.get_terminal_size(stream.fileno()).columns if stream.isatty() else 0
    except (OSError, ValueError):  # a stream without a descriptor, or closed
        width = 0
    return "\n".join([_fold(line, width) for line in text.split("\n")]) if width else text


def _fold(line: str, width: int) -> str:
    start = line[: len(line) - len(line.lstrip())]
    if line[len(start) :].startswith(("+", "-", "@@")):  # a line of a diff is code to copy
        return line
    return textwrap.fill(
        line, width, subsequent_indent=start + "  ", break_long_words=False, break_on_hyphens=False, drop_whitespace=True
    )


class Folding(logging.Filter):
    """Folds a message that Python shows on the terminal by itself; where a program has handlers, the message is theirs."""

    def filter(self, record: logging.LogRecord) -> bool:
        """Keep each record, and fold it where nobody handles it."""
        if sys.stderr is not None and not logging.getLogger(record.name).hasHandlers():
            record.msg, record.args = folded(record.getMessage(), sys.stderr), ()
        return True
