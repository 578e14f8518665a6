"""`tape.summary()`: a table of the ops on a tape."""

from __future__ import annotations

from rich.table import Table

from gradtape._src.autodiff.tape import GradientTape
from gradtape._src.explain import source as text
from gradtape._src.explain.pictures.record import Record
from gradtape._src.explain.pictures.words import described, place, rendered, short, size, table

MOST = 1000  # rows
LONGEST = 60  # characters of a line of source


class Summary:
    """A table of a tape's ops. `str()` and the prompt show it as text; rich's `print` and consoles in colour."""

    def __init__(self, tape: GradientTape) -> None:
        record = Record(tape)
        self._total = sum(op.kept for op in record.ops)
        self._rows = [
            (
                op.op,
                place(op.file, op.at),
                short(text.text(op.line) or "", LONGEST),
                described(op.aval),
                size(op.kept) if op.kept else "",
            )
            for op in record.ops
        ]
        self._used = record.used

    def __len__(self) -> int:
        return len(self._rows)

    def __rich__(self) -> Table:
        rows = [*self._rows[:MOST]]
        if len(self._rows) > MOST:
            rows.append((f"… {len(self._rows) - MOST:,} more", "", "", "", ""))
        held = "the tape is used up and holds nothing" if self._used else f"{size(self._total)} kept for the backward pass"
        title = f"{len(self._rows):,} op{'' if len(self._rows) == 1 else 's'}, {held}"
        return table(title, ["op", "line", "source", "result", ">kept"], rows)

    def __str__(self) -> str:
        return rendered(self.__rich__())

    __repr__ = __str__
