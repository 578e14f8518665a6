"""The report of a profile: sums by op and line, and a table."""

from __future__ import annotations

import io
import os
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any

from gradtape._src.core.platform import places
from gradtape._src.core.programs.journal import file_and_number
from gradtape._src.profile.count import CountEntry, Tally
from gradtape._src.profile.normal import Place

if TYPE_CHECKING:
    from gradtape._src.profile.profile import Profile

WIDTH = 110
LONGEST = 20  # the number of rows of a table
Table = tuple[list[str], list[list[str]]]  # headings, and rows of cells


class Work:
    """The costs of one pass: `flops`, `bytes`, `intensity`, `by_op`, `by_line`, `by_layer`, `without_formula`.

    `by_op`, `by_line` and `by_layer` map an op type, `file:line`, or a layer's name scopes to a dict with `runs` (of ops),
    `flops` and `bytes`; the most expensive come first. Layers are known if the profiled function calls them in eager code.
    `without_formula` maps op types whose FLOPs are not counted to their numbers of runs.
    """

    def __init__(self, tally: Tally) -> None:
        self.entries = entries = tally.entries
        self.flops = round(sum([e.flops for e in entries.values()]))
        self.bytes = round(sum([e.bytes for e in entries.values()]))
        self.by_op = _summed(entries.items(), lambda key: key[0])
        self.by_line = _summed(entries.items(), lambda key: self.spoken(key[1]))
        layered = any(key[1][2] for key in entries)
        self.by_layer = _summed(entries.items(), lambda key: key[1][2].rstrip("/") or "outside") if layered else {}
        missing = _summed([(key, e) for key, e in entries.items() if not key[2]], lambda key: key[0])
        self.without_formula = {name: row["runs"] for name, row in missing.items()}

    @property
    def intensity(self) -> float:
        """FLOPs per byte, 0 if there are no bytes."""
        return self.flops / self.bytes if self.bytes else 0.0

    def to_dict(self) -> dict[str, Any]:
        """Return all numbers."""
        return {
            "flops": self.flops,
            "bytes": self.bytes,
            "intensity": self.intensity,
            "by_op": self.by_op,
            "by_line": self.by_line,
            "by_layer": self.by_layer,
            "without_formula": self.without_formula,
        }

    @staticmethod
    def spoken(line: Place) -> str:
        """Return a place as `file:line`, relative to the working directory if possible, or as a notebook's cell."""
        file, number = file_and_number(line[:2])
        return "no line of its own" if file is None else relative(file, number)


def relative(file: str | None, number: int | None) -> str:
    """Return a place as `file:line`, relative to the working directory if it is inside of that."""
    return places.place(file, number).removeprefix(os.path.join(os.getcwd(), ""))


def by_place(profile: Profile) -> list[dict[str, Any]]:
    """Return the FLOPs of both passes for each op type, line and layer: the data of a flame graph."""
    rows: dict[Any, dict[str, Any]] = {}
    for which, work in (("forward", profile.forward), ("backward", profile.backward)):
        for (op, place, _), entry in work.entries.items():
            file, line = file_and_number(place[:2])
            layers = [name for name in place[2].split("/") if name]
            row = {"layers": layers, "file": file, "line": line, "op": op, "forward": 0, "backward": 0}
            rows.setdefault((place[2], file, line, op), row)[which] += round(entry.flops)
    return [row for row in rows.values() if row["forward"] or row["backward"]]


def _summed(entries: Iterable[tuple[Any, CountEntry]], of: Callable[[Any], str]) -> dict[str, dict[str, int]]:
    sums: dict[str, CountEntry] = {}
    for key, entry in entries:
        row = sums.setdefault(of(key), CountEntry())
        row.runs, row.flops, row.bytes = row.runs + entry.runs, row.flops + entry.flops, row.bytes + entry.bytes
    ordered = sorted(sums.items(), key=lambda item: (-item[1].flops, -item[1].bytes, item[0]))
    return {name: {"runs": round(e.runs), "flops": round(e.flops), "bytes": round(e.bytes)} for name, e in ordered}


def table(profile: Profile) -> str:
    """Return the profile as text: the sums, then FLOPs by op and by line."""
    sums = []
    for name, work in (("forward", profile.forward), ("backward", profile.backward)):
        missing = ", ".join([f"{op} ×{runs:,}" for op, runs in work.without_formula.items()]) or "-"
        sums.append([name, f"{work.flops:,}", f"{work.bytes:,}", f"{work.intensity:.2f}", missing])
    xla = profile.xla
    sums.append(["XLA's count of both, loops once", f"{xla['flops']:,.0f}", f"{xla['bytes']:,.0f}", "", ""])
    peak = f"peak memory: {profile.peak_bytes:,} bytes, forward {profile.forward_peak_bytes:,}"
    lines = [f"{peak}; XLA's {xla['peak_bytes']:,.0f}" if "peak_bytes" in xla else peak]
    if profile.loops_of_unknown_length:
        lines.append("one trip counted where values are not known: " + "; ".join(profile.loops_of_unknown_length))
    if profile.measured is not None:
        lines.append(str(profile.measured))
    parts: list[str | Table] = [(["", ">FLOPs", ">bytes", ">FLOPs per byte", "without a formula"], sums)]
    parts += [f"  {line}" for line in lines]
    for heading in ("op", "line", "layer"):
        rows = [[name, *[f"{number:,}" for number in numbers]] for name, *numbers in costs_by(profile, heading)]
        if rows:
            parts.append(([heading, ">runs", ">forward FLOPs", ">backward FLOPs", ">bytes"], rows))
    return rendered(parts, WIDTH)


def costs_by(profile: Profile, what: str) -> list[tuple[str, int, int, int, int]]:
    """Return the costs by "op", "line" or "layer": its name, runs, FLOPs forward and backward, and bytes; most FLOPs first."""
    forward, backward = getattr(profile.forward, f"by_{what}"), getattr(profile.backward, f"by_{what}")
    none = {"runs": 0, "flops": 0, "bytes": 0}
    both = [(name, forward.get(name, none), backward.get(name, none)) for name in {**forward, **backward}]
    rows = [(name, f["runs"] + b["runs"], f["flops"], b["flops"], f["bytes"] + b["bytes"]) for name, f, b in both]
    return sorted(rows, key=lambda row: (-row[2] - row[3], -row[4], row[0]))


def rendered(parts: Iterable[str | Table], width: int) -> str:
    """Return lines and tables as text. A table shows its first rows; a column whose heading begins with ">" is aligned right."""
    from rich import box  # slow to import
    from rich.console import Console
    from rich.table import Table as Shown

    stream = io.StringIO()
    console = Console(file=stream, width=width, highlight=False, markup=False)
    for part in parts:
        if isinstance(part, str):
            console.print(part, soft_wrap=True)
            continue
        (headings, rows), shown = part, Shown(box=box.SIMPLE)
        for heading in headings:
            right = heading.startswith(">")
            shown.add_column(heading.removeprefix(">"), justify="right" if right else "left", overflow="fold")
        for row in rows[:LONGEST]:
            shown.add_row(*row)
        if len(rows) > LONGEST:
            shown.add_row(f"… and {len(rows) - LONGEST} more")
        console.print(shown)
    return "\n".join([line.rstrip() for line in stream.getvalue().splitlines()]).strip("\n")
