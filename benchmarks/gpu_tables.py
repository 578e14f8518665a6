"""The tables of a GPU, as Markdown and JSON: steps with targets, first steps, memory, and utilization of the card."""

import json
import math
from pathlib import Path

from benchmarks.cards import Card
from benchmarks.measure import Line
from benchmarks.on_a_card import BEST, Figures
from benchmarks.peers import TITLES
from benchmarks.report import quantity, ratio, verdicts

COLUMNS = ("gradtape", "gradtape_fit", "torch_eager", "torch_compile", "jax_jit")
PEERS = COLUMNS[2:]


def missing(line: Line, name: str, absent: dict[str, str]) -> str:
    """Return the reason for a missing number."""
    return f"not run: {absent.get(name) or line.reasons.get(name) or 'the row has no program for it'}"


def cell(line: Line, name: str, absent: dict[str, str]) -> str:
    """Format a measurement, with the ratio of gradtape's if both are compared, or "not run" and the reason."""
    if name not in line.numbers:
        return missing(line, name, absent)
    number, share = quantity(line.numbers[name], line.unit), ratio(line, name)
    return number if share is None or name not in PEERS else f"**{share:.2f} ×** ({number})"


def judged(line: Line) -> str:
    """Format the targets, each met or not; for a step also that of the best peer."""
    found = verdicts(line)
    peers = [line.numbers[name] for name in PEERS if name in line.numbers]
    if line.unit == "s" and peers and "gradtape" in line.numbers:
        found.append((line.numbers["gradtape"] <= BEST * min(peers), f"≤ {BEST} × the best"))
    return ", ".join(f"{words} {'✓' if met else '✗'}" for met, words in found)


def achieved(found: Figures, name: str, card: Card | None, absent: dict[str, str]) -> str:
    """Format the FLOP/s and bytes/s of a step, and their share of the card's peak."""
    if name not in found.step.numbers:
        return missing(found.step, name, absent)
    if math.isnan(found.flops):
        return "not run: the work of the row is not counted"
    seconds = found.step.numbers[name]
    rates = found.flops / seconds, found.moved / seconds
    words = [f"{rates[0] / 1e12:.3g} TFLOP/s", f"{rates[1] / 1e12:.3g} TB/s"]
    if card is not None:
        most = getattr(card, found.precision), card.bandwidth
        words = [f"{text} ({rate / top:.0%})" for text, rate, top in zip(words, rates, most, strict=True)]
    return ", ".join(words)


def table(rows: list[list[str]], last: str | None = None) -> list[str]:
    """Return the lines of a table whose first column is the row."""
    titles = ["row", *[TITLES[name] for name in COLUMNS], *([last] if last else [])]
    text = ["| " + " | ".join(titles) + " |", "|---|" + "--:|" * len(COLUMNS) + ("---|" if last else "")]
    return [*text, *("| " + " | ".join(part.replace("|", "/") for part in row) + " |" for row in rows)]


def of_lines(lines: list[Line], absent: dict[str, str], with_targets: bool = True) -> list[str]:
    """Return the table with one line per row."""
    rows = [
        [f"({line.key}) {line.title}", *[cell(line, n, absent) for n in COLUMNS], *([judged(line)] if with_targets else [])]
        for line in lines
    ]
    return table(rows, "target" if with_targets else None)


def write(path: Path, heading: str, found: list[Figures], card: Card | None, absent: dict[str, str]) -> None:
    """Write all tables to `path`.md, and all numbers to `path`.json."""
    work = [[f"({f.step.key}) {f.step.title}", *[achieved(f, n, card, absent) for n in COLUMNS]] for f in found]
    text = [heading, "", "### A step", "", *of_lines([f.step for f in found], absent)]
    text += ["", "### The first step of a process", "", *of_lines([f.first for f in found], absent, with_targets=False)]
    text += ["", "### The peak of the device's memory", "", *of_lines([f.memory for f in found], absent)]
    text += ["", "### Achieved: operations, and bytes as if nothing were fused, per second", "", *table(work)]
    path.parent.mkdir(parents=True, exist_ok=True)
    path.with_suffix(".md").write_text("\n".join(text) + "\n", "utf-8")
    stored = {"heading": heading, "rows": [f.to_dict() for f in found]}
    path.with_suffix(".json").write_text(json.dumps(stored, indent=1), "utf-8")
