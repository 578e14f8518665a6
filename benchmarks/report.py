"""The table of ratios for the terminal."""

import os
import platform
import re

from rich.console import Console
from rich.table import Table

from benchmarks.measure import Line
from benchmarks.peers import TITLES

SCALES = {
    "s": ((1, "s"), (1e-3, "ms"), (1e-6, "µs")),
    "bytes": ((2**30, "GiB"), (2**20, "MiB"), (2**10, "KiB"), (1, "B")),
    "count": ((1, ""),),
}
OURS = "gradtape"


def quantity(number: float, unit: str) -> str:
    """Format `number` with three digits and a suitable unit."""
    scale, name = next((pair for pair in SCALES[unit] if abs(number) >= pair[0]), SCALES[unit][-1])
    scaled = number / scale
    digits = 0 if unit == "count" or abs(scaled) >= 100 or scaled == 0 else 1 if abs(scaled) >= 10 else 2
    return f"{scaled:.{digits}f} {name}".strip()


def ratio(line: Line, name: str) -> float | None:
    """Return the ratio of gradtape's number to that of the variant `name`: below 1, gradtape is faster."""
    if line.compared and name != OURS and name in line.numbers and OURS in line.numbers:
        return line.numbers[OURS] / line.numbers[name]
    return None


def cell(line: Line, name: str) -> tuple[str, ...]:
    """Return the ratio, if there is one, and the number, or a dash."""
    if name not in line.numbers:
        return ("–",)
    share = ratio(line, name)
    number = quantity(line.numbers[name], line.unit)
    return (number,) if share is None else (f"{share:.2f} ×", number)


def verdicts(line: Line) -> list[tuple[bool, str]]:
    """Return for each target with a number whether it is met, and its text."""
    found = []
    for name, target in line.targets.items():
        share = ratio(line, name)
        if share is not None:
            found.append((share <= target, f"≤ {target} × {TITLES[name]}"))
    if line.limit is not None and OURS in line.numbers:
        found.append((line.numbers[OURS] <= line.limit, f"≤ {quantity(line.limit, line.unit)}"))
    return found


def columns_of(lines: list[Line]) -> list[str]:
    """Return the variants with a number in any line, in the order of the table."""
    return [name for name in TITLES if any(name in line.numbers for line in lines)]


def notes(lines: list[Line]) -> list[str]:
    """Return the reasons for missing numbers, and the deviations of results."""
    rows = {}
    for line in lines:
        for name, reason in line.reasons.items():
            rows.setdefault((TITLES[name], reason), []).append(f"({line.key})")
    found = [f"{title}, {' '.join(dict.fromkeys(keys))}: {reason}" for (title, reason), keys in rows.items()]
    deviations = [f"({line.key}) {max(line.deviations.values()):.0e}" for line in lines if line.deviations]
    if deviations:
        found.append("Largest difference between results, relative to the largest element: " + ", ".join(deviations))
    return found


def print_table(lines: list[Line], heading: str) -> None:
    """Print the table on the terminal, then the notes."""
    console = Console(highlight=False)
    if not console.is_terminal:
        console = Console(highlight=False, width=170)
    table = Table(title=heading, caption="above: gradtape's number ÷ theirs, so below 1 gradtape is ahead; below: theirs")
    table.add_column("row")
    names = columns_of(lines)
    for name in names:
        table.add_column(TITLES[name], justify="right")
    table.add_column("target")
    for line in lines:
        cells = []
        for name in names:
            share = ratio(line, name)
            style = "bold" if name == OURS else "" if share is None else "green" if share <= 1 else "yellow"
            text = "\n".join(cell(line, name))
            cells.append(f"[{style}]{text}[/{style}]" if style else text)
        judged = "\n".join(f"[green]{words} ✓[/green]" if met else f"[red]{words} ✗[/red]" for met, words in verdicts(line))
        table.add_row(f"({line.key}) {line.title}", *cells, judged, end_section=True)
    console.print(table)
    for note in notes(lines):
        console.print(note, markup=False)


def machine() -> str:
    """Describe the machine by cores and processor family only: "2 cores of AMD EPYC (family 25)"."""
    fields = {}
    if os.path.exists("/proc/cpuinfo"):
        with open("/proc/cpuinfo") as file:
            for line in file:
                name, _, value = line.partition(":")
                fields.setdefault(name.strip(), value.strip())
    model = re.sub(r"\((R|TM)\)", "", fields.get("model name", platform.machine()))
    words = []
    for word in model.split():
        if re.search(r"\d|@|^(CPU|Processor)$", word):
            break
        words.append(word)
    family = f" (family {fields['cpu family']})" if "cpu family" in fields else ""
    return f"{os.cpu_count()} cores of {' '.join(words) or model}{family}"
