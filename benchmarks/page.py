"""Generate the tables of docs/benchmarks.md, docs/gpu.md and README.md from stored runs: `python -m benchmarks.page --write`."""

import sys
from collections.abc import Iterable
from pathlib import Path

from benchmarks.behind import BEHIND
from benchmarks.peers import ROOT, TITLES
from benchmarks.report import quantity
from benchmarks.runs import Run, Stored, latest, stored

BEGIN, END = "<!-- From benchmarks/results: make snapshot -->\n", "<!-- Until here -->\n"
PAGE, README, GPUS = ROOT / "docs" / "benchmarks.md", ROOT / "README.md", ROOT / "docs" / "gpu.md"

# The tables of the page for a CPU: headings, and keys of rows. Other keys go to the first table.
EAGER = "Eager code on our side"
TABLES = {
    EAGER: "a b o o2 c d e e2 f g2 i",
    "First steps and new shapes": "g gt gg ha hc hd ht hs ho au gs",
    "Functions on all sides": "j ji o3 ob k10 k k100000 kw ode fp l l2 m ja pe bm hv lap sj sh sg sm sp lm lmb",
    "Keras fit, and its first epochs": "n n2 n3 n4 n5 n6 hn hn2 hn3 hn4 hn5 hn6 hn7 hn8 hn9 hn10 hn11 hn12 hn13",
    "Tape loops on Keras models; datasets": "tl tl2 tl3 tl4 tl5 tl6 tl7 tl8 tl9 tl10 tl11 tl12 tl13 dm dm2 dm3",
}
ON_A_CARD, MODELS, KINDS = "gpt rn a b c d g j m pe ja hv", ("gpt", "rn"), ("step", "first step", "memory")
# README's table: rows by key with their descriptions, and columns, each with the first of its variants that has a ratio.
IN_README = {
    "a": "training step of a 10-layer MLP, width 16, eager",
    "b": "chain of 1,000 scalar sines, with its gradient, eager",
    "c": "three conv heads on five 224 × 224 images, eager",
    "d": "conv 3×3, 32 → 64, relu, both gradients, eager",
    "g": "a new shape in every step, eager",
    "k": "gradient of a loop of 1,000 trips",
    "m": "LSTM, 50 steps, batch 32, all gradients",
    "pe": "gradients per example, MLP, batch 128",
    "hv": "Hessian-vector product of an MLP",
    "n": "Keras `fit` on each: MLP",
    "n4": "Keras `fit` on each: transformer of 4 layers",
    "n5": "Keras `fit` on each: 20 embeddings",
    "tl4": "tape loop on a Keras transformer, eager",
    "dm3": "`tf.data`: `map` of images",
}
COLUMNS = {
    "TensorFlow eager": ("tensorflow_eager",),
    "`tf.function`": ("tensorflow_function", "keras_tensorflow"),
    "PyTorch eager": ("torch_eager", "keras_torch"),
    "`jax.jit`": ("jax_jit", "keras_jax"),
}


def share(number: float) -> str:
    """Format a ratio with about three digits."""
    return f"{number:.{0 if number >= 100 else 1 if number >= 10 else 2}f}"


def ratio(line: Stored, name: str) -> str:
    """Return the ratio, or a dash."""
    return share(line.ratios[name]) if name in line.ratios else "–"


def cell(line: Stored, name: str) -> str:
    """Return the ratio and the number, as far as they exist, or a dash."""
    number = quantity(line.numbers[name], line.unit) if name in line.numbers else ""
    if name in line.ratios:
        return f"**{share(line.ratios[name])} ×**" + (f" ({number})" if number else "")
    return number or line.reasons.get(name, "–")


def table(head: Iterable[str], rows: Iterable[Iterable[str]]) -> list[str]:
    """Return a Markdown table whose first column is text."""
    titles = list(head)
    lines = ["| " + " | ".join(titles) + " |", "|---|" + "--:|" * (len(titles) - 1)]
    return [*lines, *("| " + " | ".join(row) + " |" for row in rows), ""]


def measured(lines: list[tuple[Stored, int]], title: str) -> list[str]:
    """Return the table of these lines, with a column for each variant that has a number, and one for the run.

    Lines of one row whose titles differ at the end share a line, with their cells separated by slashes.
    """
    names = [name for name in TITLES if any(name in line.numbers or name in line.ratios for line, _ in lines)]
    groups: dict[tuple[str, str], list[tuple[Stored, int]]] = {}
    for line, number in lines:
        groups.setdefault((line.key, line.measured), []).append((line, number))
    rows = []
    for (key, _), group in groups.items():
        columns = [[cell(line, name) for line, _ in group] for name in names]
        runs = dict.fromkeys(str(number) for _, number in group)
        rows.append(
            [f"({key}) {words([line for line, _ in group])}", *["–" if {*c} == {"–"} else " / ".join(c) for c in columns], *runs]
        )
    return [f"### {title}", "", *table(["row", *[TITLES[name] for name in names], "run"], rows)]


def words(lines: list[Stored]) -> str:
    """Return the title of a row, with differing ends behind a colon."""
    titles = [
        line.title + (f", {line.measured}" if line.measured != "step" else "") + (f", {line.precision}" if line.precision else "")
        for line in lines
    ]
    if len(titles) == 1:
        return titles[0]
    parts = [title.split() for title in titles]
    same = next(place for place, heard in enumerate(zip(*parts, strict=False)) if len({*heard}) > 1)
    return f"{' '.join(parts[0][:same]).rstrip(',:')}: {' / '.join(' '.join(part[same:]) for part in parts)}"


def target(line: Stored) -> list[str]:
    """Format each missed target."""
    titles = TITLES | {"best": "the best", "limit": ""}
    kind = " ".join(filter(None, [line.precision, line.measured if line.measured != "step" else ""]))
    return [
        f"({line.key}){f' {kind}' if kind else ''} "
        + (quantity(line.numbers["gradtape"], line.unit) if ratio is None else f"{share(ratio)} × {titles[name]}")
        + f", ≤ {quantity(most, line.unit) if ratio is None else most}"
        for name, (ratio, most) in line.behind().items()
    ]


def behind(runs: list[Run], device: str) -> list[str]:
    """Return the table of missed targets on a device."""
    rows = []
    lines = [line for line, _ in latest(runs, device) if line.behind()]
    known = [one for one in BEHIND if one.device == device]
    for one in known:
        said = [words for line in lines if line.key in one.keys.split() for words in target(line)]
        if said:
            rows.append(["; ".join(said), one.cause, one.tried, one.next])
    explained = {key for one in known for key in one.keys.split()}
    rows += [["; ".join(target(line)), "Not looked into.", "–", "Open."] for line in lines if line.key not in explained]
    head = "| row, what it is, what is wanted | cause | what was tried | next |"
    return [head, "|---|---|---|---|", *("| " + " | ".join(row) + " |" for row in rows), ""]


def on_page(runs: list[Run]) -> str:
    """Return the generated part of docs/benchmarks.md: the rows on a CPU."""
    cpu, text = latest(runs, "cpu"), said(runs, "cpu")
    known = " ".join(TABLES.values()).split()
    for title, keys in TABLES.items():
        order = keys.split()
        lines = [(line, number) for line, number in cpu if line.key in order or (title == EAGER and line.key not in known)]
        lines.sort(key=lambda pair: order.index(pair[0].key) if pair[0].key in order else len(order))
        text += measured(lines, title) if lines else []
    return "\n".join([*text, "## Behind its target", "", *behind(runs, "cpu")]) + "\n"


def in_gpus(runs: list[Run]) -> str:
    """Return the generated part of docs/gpu.md: the rows on a GPU."""
    order = ON_A_CARD.split()
    models = [pair for pair in latest(runs, "gpu") if pair[0].measured == "step" or pair[0].key in MODELS]
    models.sort(key=lambda pair: (KINDS.index(pair[0].measured), order.index(pair[0].key), pair[0].precision != "float32"))
    text = [*said(runs, "gpu"), *(measured(models, "Steps; first steps and memory of the models") if models else [])]
    return "\n".join([*text, "### Behind its target", "", *behind(runs, "gpu")]) + "\n"


def said(runs: list[Run], device: str) -> list[str]:
    """List the runs of a device by number."""
    of_device = [run for run in runs if run.device == device]
    used = {number for _, number in latest(runs, device)}
    words = [f"({number}) {run.heading()}" for number, run in enumerate(of_device, 1) if number in used]
    return ["Runs: " + ";\n".join(words) + ".", ""]


def in_readme(runs: list[Run]) -> str:
    """Return README's table."""
    lines: dict[str, Stored] = {}
    for line, _ in latest(runs, "cpu"):
        lines.setdefault(line.key, line)
    rows = [
        [
            words,
            *[
                next((share(lines[key].ratios[name]) for name in names if name in lines[key].ratios), "–")
                for names in COLUMNS.values()
            ],
        ]
        for key, words in IN_README.items()
        if key in lines
    ]
    return "\n".join(table(["gradtape's time ÷ theirs", *COLUMNS], rows)) + "\n"


def replaced(page: str, text: str) -> str:
    """Return the page with `text` between its marks."""
    before, begin, rest = page.partition(BEGIN)
    _, end, after = rest.partition(END)
    if not begin or not end:
        raise ValueError(f"the page must hold the lines {BEGIN!r} and {END!r}, between which the tables go")
    return f"{before}{begin}\n{text}{end}{after}"


def pages() -> dict[Path, str]:
    """Return the pages for the current stored runs."""
    runs, makers = stored(), {PAGE: on_page, README: in_readme, GPUS: in_gpus}
    return {path: replaced(path.read_text("utf-8"), make(runs)) for path, make in makers.items()}


if __name__ == "__main__":
    for path, text in pages().items():
        if sys.argv[1:] == ["--write"]:
            path.write_text(text, "utf-8")
        else:
            print(text)
