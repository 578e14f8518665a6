"""The `Diagnosis` of one source."""

from __future__ import annotations

import dataclasses
import html
import re
from collections.abc import Iterable
from typing import Any

from gradtape._src.core.places import place
from gradtape._src.explain.edits import Fix
from gradtape._src.explain.evidence import CODES

MOST_NAMES = 6


@dataclasses.dataclass(frozen=True)
class Diagnosis:
    """The reason for the gradient of one source.

    - `code`: one word for the cause, as in the table of `docs/explain.md`; "connected" if nothing is wrong.
    - `file`, `line`: the user's line at which the connection broke; None if it is not known.
    - `op`: the type of the op that broke it, or None.
    - `cause`, `mend`: a sentence each, in the user's own names where they can be read from the source.
    - `also`: other breaks on the same path, in order from the source; then those that cut other paths.
    - `process`: "process 1 of 4" if several train together (`docs/distribution.md`), else empty.

    `str()` is for people, `to_dict()` for programs.

    >>> x = tf.Variable(2.0)
    >>> with tf.GradientTape() as tape:
    ...     loss = tf.round(x)
    >>> diagnosis = tf.autodiff.explain(loss, x)
    >>> print(diagnosis.code, diagnosis.op, diagnosis.connected)
    not_differentiable Round False
    >>> print(diagnosis.mend)
    pass the gradient straight through: `x + tf.stop_gradient(tf.round(x) - x)`
    """

    code: str
    file: str | None = None
    line: int | None = None
    op: str | None = None
    cause: str = ""
    mend: str = ""
    also: tuple[Diagnosis, ...] = ()
    process: str = ""
    _fixes: tuple[Fix, ...] = dataclasses.field(default=(), repr=False, compare=False)
    _tried: str = dataclasses.field(default="", repr=False, compare=False)
    _apart: bool = dataclasses.field(default=False, repr=False, compare=False)  # on another way than those before it

    def __str__(self) -> str:
        lines = [f"{self.where}{self.code}: {self.cause}"]
        if self.mend:
            first, *more = self.mend.splitlines()
            lines += [f"  {self.label}:", *[f"    {line}" for line in (first, *more)]] if more else [f"  {self.label}: {first}"]
        lines += [f"  also: {line}" for other in self.also for line in str(other).splitlines()]
        return "\n".join(lines)

    def _repr_pretty_(self, printer: Any, cycle: bool) -> None:
        """Show the sentences in IPython, alone and in lists."""
        printer.text(str(self))

    def _repr_html_(self) -> str:
        """Return the same for a notebook."""
        where = f"<b>{html.escape(self.where[:-2])}</b> " if self.where else ""
        said = f"{where}<code>{self.code}</code> {_marked(self.cause)}"
        also = "".join([f"<li>{other._repr_html_()}</li>" for other in self.also])
        mend = f"<br><b>{self.label.capitalize()}</b>: {_marked(self.mend)}" if self.mend else ""
        return said + mend + (f"<ul>{also}</ul>" if also else "")

    def to_dict(self) -> dict[str, Any]:
        """Return the fields as a dict of strings, ints, None, and dicts for `also`; `process` is there if it is not empty."""
        names = [f.name for f in dataclasses.fields(self) if not f.name.startswith("_") and (f.name != "process" or self.process)]
        fields = {name: getattr(self, name) for name in names}
        return fields | {"also": [other.to_dict() for other in self.also]}

    @property
    def connected(self) -> bool:
        """Whether there is a gradient, and nothing to fix."""
        return self.code == "connected"

    @property
    def label(self) -> str:
        """Return what `mend` is: a "fix", code that can be written as it stands, or "advice"; and whether it was tried."""
        return self._tried or ("fix" if self._fixes and not re.search(r"\btry\b", self.mend) else "advice")

    @property
    def at_fault(self) -> bool:
        """Return whether something broke a connection that the program makes."""
        return not (self.connected or (self.code in CODES and CODES[self.code].harmless))

    @property
    def where(self) -> str:
        """Return the process and the line, as the start of a sentence; empty where neither is known."""
        places = [self.process, "" if self.line is None else place(self.file, self.line)]
        return "".join([f"{part}: " for part in places if part])

    @property
    def place(self) -> tuple[Any, ...]:
        """Return the key of the cause, which all of its sources share: the op is one where the sentence tells it."""
        return self.code, self.file, self.line, self.op if self.op is not None and self.op in self.cause else None


def _marked(sentence: str) -> str:
    """Return a sentence as HTML, its code in `<code>`."""
    return re.sub(r"`([^`]*)`", r"<code>\1</code>", html.escape(sentence))


def by_cause(diagnoses: Iterable[tuple[Any, Diagnosis]]) -> list[tuple[list[Any], Diagnosis]]:
    """Group by cause, each with its first Diagnosis; faults come first."""
    found: dict[Any, tuple[list[Any], Diagnosis]] = {}
    for of, diagnosis in diagnoses:
        found.setdefault(diagnosis.place, ([], diagnosis))[0].append(of)
    return sorted(found.values(), key=lambda group: not group[1].at_fault)


def listed(names: list[str]) -> str:
    """Join names in a row, the first of many."""
    more = len(names) - MOST_NAMES
    return ", ".join(names[:MOST_NAMES]) + (f" and {more:,} more" if more > 0 else "")
