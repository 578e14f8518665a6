"""Stored runs: a JSON file in `benchmarks/results/` for each, with machine, versions, date, rows and ratios.

`benchmarks/page.py` generates the tables of docs/benchmarks.md and README.md from them.
"""

import json
from collections.abc import Iterable
from dataclasses import asdict, dataclass, field
from pathlib import Path

from benchmarks.measure import Line
from benchmarks.peers import ROOT, TITLES
from benchmarks.report import ratio

FOLDER = ROOT / "benchmarks" / "results"


@dataclass
class Stored:
    """A line of a table: numbers in `unit`, ratios of gradtape's number to those of others, and their targets.

    `measured` is "step", "first step" or "memory", and `precision` that of a row on a GPU. In `targets`, "best" is the best
    peer.
    """

    key: str
    title: str
    unit: str
    numbers: dict[str, float]
    ratios: dict[str, float]
    targets: dict[str, float]
    limit: float | None = None
    reasons: dict[str, str] = field(default_factory=dict)
    measured: str = "step"
    precision: str = ""

    @classmethod
    def of(cls, line: Line, title: str | None = None, **more) -> "Stored":
        """Return the line with its ratios."""
        ratios = {name: share for name in TITLES if (share := ratio(line, name)) is not None}
        found = asdict(line) | {"title": title or line.title} | more
        return cls(ratios=ratios, **{name: found[name] for name in found.keys() - {"compared", "deviations"}})

    def behind(self) -> dict[str, tuple[float | None, float]]:
        """The missed targets: the ratio, None for a limit of gradtape's own number, and the target."""
        ratios = self.ratios | ({"best": max(self.ratios.values())} if self.ratios else {})
        found = {name: (ratios[name], most) for name, most in self.targets.items() if ratios.get(name, 0.0) > most}
        if self.limit is not None and self.numbers.get("gradtape", self.limit) > self.limit:
            found["limit"] = (None, self.limit)
        return found


@dataclass
class Run:
    """A run of the benchmark on a "cpu" or "gpu"; a `whole` one has all rows, and its repetitions are "full" or "few"."""

    device: str
    date: str
    machine: str
    python: str
    versions: dict[str, str]
    repetitions: str
    whole: bool
    lines: list[Stored]

    def heading(self) -> str:
        """The description of the run."""
        versions = [f"Python {self.python}"] if self.python else []
        versions += [f"{peer} {version}" for peer, version in self.versions.items()]
        said = "" if self.repetitions == "full" else ", few repetitions"
        return f"{self.date}, {self.machine}{': ' if versions else ''}{', '.join(versions)}{said}"


def stored(folder: Path = FOLDER) -> list[Run]:
    """Return all stored runs, the oldest first."""
    found = [json.loads(path.read_text("utf-8")) for path in sorted(folder.glob("*.json"))]
    return [Run(**run | {"lines": [Stored(**line) for line in run["lines"]]}) for run in found]


def store(run: Run, folder: Path = FOLDER) -> Path:
    """Write a run; a whole one replaces all earlier ones of its device."""
    folder.mkdir(exist_ok=True)
    if run.whole:
        for path in folder.glob("*.json"):
            if json.loads(path.read_text("utf-8"))["device"] == run.device:
                path.unlink()
    number = 1 + len(list(folder.glob(f"{run.date}-{run.device}-*.json")))
    path = folder / f"{run.date}-{run.device}-{number}.json"
    path.write_text(json.dumps(asdict(run), indent=1, ensure_ascii=False) + "\n", "utf-8")
    return path


def latest(runs: Iterable[Run], device: str) -> list[tuple[Stored, int]]:
    """Return each row's lines from the latest run that measured it, with the number of that run on the device."""
    found: dict[tuple[str, str, str], tuple[list[Stored], int]] = {}
    for number, run in enumerate([run for run in runs if run.device == device], 1):
        measured: dict[tuple[str, str, str], tuple[list[Stored], int]] = {}
        for line in run.lines:
            measured.setdefault((line.key, line.measured, line.precision), ([], number))[0].append(line)
        found |= measured
    return [(line, number) for lines, number in found.values() for line in lines]
