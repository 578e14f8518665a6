"""The `Diagnosis` of one source, and the text and table of several."""

from __future__ import annotations

import dataclasses
import html
import os
import re
import sys
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, NamedTuple, TypeVar

from gradtape._src.core.base.folding import folded
from gradtape._src.core.platform.places import nearest, place
from gradtape._src.explain.edits import Fix
from gradtape._src.explain.evidence import CODES

T = TypeVar("T")
MOST_NAMES = 6
HAS = {"None": "no gradient", "zeros": "a gradient of zeros", "NaN": "a gradient of NaN", "infinite": "an infinite gradient"}
HAS["undefined"] = "an undefined gradient"  # no gradient is registered for any op on the path: the call raises


@dataclasses.dataclass(frozen=True)
class Diagnosis:
    """The reason for the gradient of one source.

    - `code`: one word for the cause, as in the table of `docs/explain.md`; "connected" if nothing is wrong.
    - `file`, `line`: the user's line at which the connection broke; None if it is not known.
    - `op`: the type of the op that broke it, or None.
    - `cause`, `mend`: a sentence each, in the user's own names where they can be read from the source.
    - `also`: other breaks on the same path, in order from the source; then breaks on other paths.
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
    _apart: bool = dataclasses.field(default=False, repr=False, compare=False)  # on another path than the breaks before it
    _for_all: str = dataclasses.field(default="", repr=False, compare=False)  # `mend` without the name of the source
    _otherwise: str = dataclasses.field(default="", repr=False, compare=False)  # what to do where no fix is enough

    def __str__(self) -> str:
        return "\n".join(self._lines(None))

    def _lines(self, beside: str | None) -> list[str]:
        """Return the lines of the text. A place in the file `beside` is shown by its line number alone."""
        lines = [f"{self._place_beside(beside)}{self.code}: {self.cause}"]
        if self.mend:
            first, *more = self.mend.splitlines()
            lines += [f"  {self.label}:", *[f"    {line}" for line in (first, *more)]] if more else [f"  {self.label}: {first}"]
        for other in self.also:
            first, *more = other._lines(beside or self.file)
            lines += [f"  also {first}", *[f"  {line}" for line in more]]
        return lines

    def _place_beside(self, file: str | None) -> str:
        """Return the process and the line as the start of a sentence. A line in `file` is shown by its number alone."""
        at = place(self.file, self.line) if file is None else nearest(self.file, self.line, file)
        return "".join([f"{part}: " for part in (self.process, "" if self.line is None else at) if part])

    def _repr_pretty_(self, printer: Any, cycle: bool) -> None:
        """Show the text in IPython, alone and in lists."""
        printer.text(str(self))

    def _repr_html_(self) -> str:
        """Return the text as HTML for a notebook."""
        where = self._place_beside("").removesuffix(": ")  # with a path from the current folder, as it may be long
        said = f"{f'<b>{html.escape(where)}</b> ' if where else ''}<code>{self.code}</code> {_marked(self.cause)}"
        also = "".join([f"<li>also {other._repr_html_()}</li>" for other in self.also])
        mend = f"<br><b>{self.label.capitalize()}</b>: {_marked(self.mend)}" if self.mend else ""
        return said + mend + (f"<ul>{also}</ul>" if also else "")

    def to_dict(self) -> dict[str, Any]:
        """Return the fields as a dict of strings, ints, None, and dicts for `also`; `process` is left out if empty."""
        names = [f.name for f in dataclasses.fields(self) if not f.name.startswith("_") and (f.name != "process" or self.process)]
        fields = {name: getattr(self, name) for name in names}
        return fields | {"also": [other.to_dict() for other in self.also]}

    @property
    def connected(self) -> bool:
        """Whether there is a gradient, and nothing to fix."""
        return self.code == "connected"

    @property
    def label(self) -> str:
        """Return the kind of `mend`: "fix" for code that can be pasted, else "advice"; and the outcome if it was tried."""
        return self._tried or ("fix" if self._fixes and not re.search(r"\btry\b", self.mend) else "advice")

    @property
    def at_fault(self) -> bool:
        """Return whether the code broke a connection that the program makes."""
        return not (self.connected or (self.code in CODES and CODES[self.code].harmless))

    @property
    def where(self) -> str:
        """Return the process and the line as the start of a sentence; empty if neither is known."""
        return self._place_beside(None)

    @property
    def place(self) -> tuple[Any, ...]:
        """Return the key of the cause, by which sources are grouped. The op counts only if the sentence names it, as written."""
        named = re.findall(r"(\S+) in `|\bthe op (\w+)", self.cause)[:1]
        return self.code, self.file, self.line, *named, self._for_all


def _marked(sentence: str) -> str:
    """Return a sentence as HTML, with its code in `<code>`."""
    return re.sub(r"`([^`]*)`", r"<code>\1</code>", html.escape(sentence))


class Lack(NamedTuple):
    """The flaw of one source: its gradient, or the value `of` a target, is "None", "zeros", "NaN" or "infinite"; "" if right."""

    source: str
    what: str
    times: int = 1
    of: str = "gradient"


Found = tuple[Lack, Diagnosis]


def by_cause(diagnoses: Iterable[tuple[T, Diagnosis]]) -> list[tuple[list[T], Diagnosis]]:
    """Group items by cause, each group with its first Diagnosis; faults come first."""
    found: dict[Any, tuple[list[T], Diagnosis]] = {}
    for of, diagnosis in diagnoses:
        found.setdefault(diagnosis.place, ([], diagnosis))[0].append(of)
    return sorted(found.values(), key=lambda group: (group[1].connected, not group[1].at_fault))


def listed(names: list[str]) -> str:
    """Join names with commas, and count the rest of a long list."""
    more = len(names) - MOST_NAMES
    return ", ".join(names[:MOST_NAMES]) + (f" and {more:,} more" if more > 0 else "")


def counted(lacks: Iterable[Lack], total: int) -> str:
    """Return the numbers of sources without a gradient, or with one of zeros, NaN or infinity: "3 of 8 have no …"."""
    of_values = [lack for lack in lacks if lack.of != "gradient"]
    of_gradients = [lack for lack in lacks if lack.of == "gradient" and lack.what]
    said = [f"{lack.source} is {lack.what}" for lack in of_values]
    if total == 1:
        said += [f"{lack.source} has {HAS[lack.what]}" for lack in of_gradients]
    else:
        counts = Counter(lack.what for lack in of_gradients)
        numbers = [f"{number:,}{'' if k else f' of {total:,}'}" for k, number in enumerate(counts.values())]
        said += [f"{n} {'has' if counts[what] == 1 else 'have'} {HAS[what]}" for n, what in zip(numbers, counts, strict=True)]
    return ", ".join(said)


def once(found: Iterable[Found]) -> Iterator[tuple[list[Lack], Diagnosis]]:
    """Group sources by cause. A further break that an earlier group tells, too, is only named."""
    known: set[Any] = set()
    for lacks, diagnosis in by_cause(found):
        also = [d if d.place not in known else dataclasses.replace(d, cause="as above", mend="") for d in diagnosis.also]
        yield lacks, dataclasses.replace(diagnosis, also=tuple(also))
        known |= {d.place for d in (diagnosis, *diagnosis.also)}


def told(found: Iterable[Found], beside: str | None) -> list[str]:
    """Return the lines of a report: each cause once, faults first. Places in the file `beside` are line numbers alone."""
    lines: list[str] = []
    for lacks, diagnosis in once(found):
        for what, times, of in dict.fromkeys([lack[1:] for lack in lacks]):
            names = listed([lack.source for lack in lacks if lack[1:] == (what, times, of)])
            lines.append(f"  {names}: {f'the {of} is {what}' if what else 'connected'}{f' ({times} times)' if times > 1 else ''}")
        if not diagnosis.connected:
            lines += [f"    {line}" for line in diagnosis._lines(beside)]
    return lines


class Diagnoses:
    """The reasons for the gradients of several sources: a list, tuple or dict of Diagnosis objects.

    The text, and the table in a notebook, show each cause once, faults first.
    """

    _found: Sequence[Found] = ()

    def __str__(self) -> str:
        file = next((diagnosis.file for _, diagnosis in by_cause(self._found)), None)
        at = f": {os.path.basename(file)}" if file else ""
        return folded("\n".join([self._headline + at, *told(self._found, file)]), sys.stdout)

    __repr__ = __str__

    @property
    def _headline(self) -> str:
        lacks = [lack for lack, _ in self._found]
        whole = f"all {len(lacks):,} have" if lacks[1:] else f"{lacks[0].source} has"
        return counted(lacks, len(lacks)) or f"{whole} a gradient"

    def _repr_html_(self) -> str:
        """Return the table as HTML for a notebook."""
        rows, cell = [], "<td style='text-align: left; overflow-wrap: anywhere'>"
        for lacks, diagnosis in once(self._found):
            names = html.escape(listed([lack.source for lack in lacks]))
            what = " and ".join(dict.fromkeys([lack.what for lack in lacks if lack.what])) or "connected"
            said = "" if diagnosis.connected else diagnosis._repr_html_()
            rows.append(f"<tr><td><code>{names}</code></td><td>{what}</td>{cell}{said}</td></tr>")
        return f"<b>{html.escape(self._headline)}</b><table>{''.join(rows)}</table>"


class Listed(Diagnoses, list[Any]):
    """Diagnoses in a list."""


class InTuple(Diagnoses, tuple[Any, ...]):
    """Diagnoses in a tuple."""


class InDict(Diagnoses, dict[Any, Any]):
    """Diagnoses in a dict."""


def shown(answers: Any, found: Sequence[Found]) -> Any:
    """Wrap a list, tuple or dict of answers so that it prints `found` as a table; return other answers unchanged."""
    kinds: dict[Any, Any] = {list: Listed, tuple: InTuple, dict: InDict}
    if found and type(answers) in kinds:
        answers = kinds[type(answers)](answers)
        answers._found = found
    return answers
