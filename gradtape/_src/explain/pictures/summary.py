"""`tape.summary()`: a table of the ops on a tape."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from rich.console import Console, ConsoleOptions
from rich.table import Table

from gradtape._src.autodiff.tape import GradientTape
from gradtape._src.explain import source as text
from gradtape._src.explain.pictures.record import Record
from gradtape._src.explain.pictures.words import described, place, rendered, short, size, table

MOST = 1000  # rows
LONGEST = 60  # characters of a source line
COLUMNS = ("op", "layer", "line", "source", "result", ">kept")
SHORTENED = ("source", "result", "layer", "op", "line")
LEAST = 8  # least characters of a shortened cell
GAP, EDGES = 3, 2  # characters between columns, and outside of the first and last


class Summary:
    """A table of a tape's ops. `str()` and the prompt show it as text; rich's `print` and consoles show it in colour.

    The layer column is left out if all are empty.
    """

    def __init__(self, tape: GradientTape) -> None:
        record = Record(tape)
        self._total = sum(op.kept for op in record.ops)
        self._rows: list[tuple[str, ...]] = []
        for op in record.ops:
            source, kept = short(text.text(op.line) or "", LONGEST), size(op.kept) if op.kept else ""
            self._rows.append((op.op, op.layer, place(*op.where), source, described(op.aval), kept))
        self._used = record.used

    def __len__(self) -> int:
        return len(self._rows)

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> Iterator[Table]:
        rows = [*self._rows[:MOST]]
        if len(self._rows) > MOST:
            rows.append((f"… {len(self._rows) - MOST:,} more", *[""] * (len(COLUMNS) - 1)))
        held = "the tape is used up and holds nothing" if self._used else f"{size(self._total)} kept for the backward pass"
        title = f"{len(self._rows):,} op{'' if len(self._rows) == 1 else 's'}, {held}"
        columns: Sequence[str] = COLUMNS
        if not any(row[1] for row in rows):
            columns, rows = (COLUMNS[0], *COLUMNS[2:]), [(row[0], *row[2:]) for row in rows]
        yield table(title, columns, _fitted(columns, rows, options.max_width))

    def __str__(self) -> str:
        return rendered(self)

    __repr__ = __str__


def _fitted(columns: Sequence[str], rows: Sequence[tuple[str, ...]], width: int) -> list[list[str]]:
    """Return the rows with cells shortened so that all columns fit: first the source, then the results, then the names."""
    names = [name.lstrip(">") for name in columns]
    widths = [max(len(cell) for cell in column) for column in zip(names, *rows, strict=True)]
    for column in [names.index(name) for name in SHORTENED if name in names]:
        excess = sum(widths) + GAP * (len(widths) - 1) + EDGES - width
        widths[column] = max(widths[column] - max(excess, 0), min(widths[column], LEAST))
    return [[short(cell, most) for cell, most in zip(row, widths, strict=True)] for row in rows]
