"""Print `docs/compatibility.md` and `docs/names.md` as the code has them now; with `--write`, write the generated parts of both.

The names are TensorFlow's of `names.json`, looked up in gradtape; the reasons are those of the AttributeError. What differs by
the kind of a value is listed in `tests/values`.
"""

import functools
import json
import sys
from collections import defaultdict
from pathlib import Path

import gradtape
from gradtape._src.compat.reasons import REASONS, reason
from gradtape._src.compat.stand_ins import is_stand_in

PAGES = [Path(__file__).parents[2] / "docs" / name for name in ("compatibility.md", "names.md")]
TENSORFLOW = json.loads(Path(__file__).with_name("names.json").read_text("utf-8"))
DIFFERENCES = Path(__file__).parents[1] / "values" / "differences.json"
BEGIN = "<!-- Written from tests/values/differences.json: make snapshot -->\n"
END = "<!-- Until here -->\n"
MARK = "<!-- From here on written by tests/signatures/compatibility.py: make snapshot -->\n"


def dotted(namespace, name):
    """The name under `tf`, as the table of reasons has it."""
    return name if namespace == "tf" else f"{namespace}.{name}"


def find(name):
    """What gradtape has under the dotted `name`; raises `AttributeError` where it has nothing."""
    return functools.reduce(getattr, name.split("."), gradtape)


def exists(name):
    try:
        return not is_stand_in(find(name))
    except AttributeError:
        return False


def stands_in(name):
    """Whether the dotted `name` is a stand-in: there for `isinstance`, and of no other use."""
    try:
        return is_stand_in(find(name))
    except AttributeError:
        return False


def promised(namespace):
    """Names of `namespace` that are not TensorFlow's and have a reason why they are not there."""
    places = [(name.rpartition(".")[0] or "tf", name.rpartition(".")[2]) for name in REASONS if "*" not in name]
    return [name for place, name in places if place == namespace and name not in TENSORFLOW[namespace]]


def missing(namespace):
    """Names of `namespace`, TensorFlow's and promised ones, that gradtape does not have."""
    return sorted(name for name in [*TENSORFLOW[namespace], *promised(namespace)] if not exists(dotted(namespace, name)))


def unexplained():
    """Missing names without a reason. A namespace that is missing as a whole has one for all of its names."""
    there = [namespace for namespace in TENSORFLOW if namespace == "tf" or exists(namespace)]
    names = [dotted(namespace, name) for namespace in there for name in missing(namespace)]
    absent = [namespace for namespace in TENSORFLOW if namespace not in there]
    return [name for name in [*names, *absent] if not reason(name)]


def stale():
    """Names of the table of reasons that exist."""
    return [name for name in REASONS if "*" not in name and exists(name)]


def code(names):
    return " ".join(f"`{name}`" for name in names)


def section(namespace):
    """The names of one namespace that are not there, by reason; nothing where all are."""
    title = "tf" if namespace == "tf" else f"tf.{namespace}"
    lines = [f"## {title}", ""]
    if namespace != "tf" and not exists(namespace):
        names = [name for name in TENSORFLOW[namespace] if stands_in(dotted(namespace, name))]
        return [*lines, reason(namespace), "", *([f"Names only: {code(names)}", ""] if names else [])]
    absent = missing(namespace)
    if not absent:
        return []
    by_reason = defaultdict(list)
    for name in absent:
        by_reason[reason(dotted(namespace, name))].append(name)
    everything_else = REASONS.get(f"{namespace}.*")
    rows = [
        f"| {f'all others ({len(names)})' if why == everything_else and len(names) > 40 else code(names)} | {why} |"
        for why, names in by_reason.items()
    ]
    names = [name for name in absent if stands_in(dotted(namespace, name))]
    if names:
        lines += [f"Names only: {code(names)}", ""]
    return [*lines, "| not there | why |", "|---|---|", *rows, ""]


def overview():
    """One row for each namespace: how many of TensorFlow's names are there."""
    rows = ["| namespace | TensorFlow's names | there |", "|---|---|---|"]
    for namespace, names in TENSORFLOW.items():
        title = "tf" if namespace == "tf" else f"tf.{namespace}"
        anchor = title.lower().replace(".", "")
        there = [name for name in names if exists(dotted(namespace, name))]
        shown = f"[{title}](#{anchor})" if section(namespace) else title
        rows.append(f"| {shown} | {len(names)} | {len(there)} |")
    return rows


def generated():
    """The part of the page below the mark."""
    lines = [*overview(), ""]
    for namespace in TENSORFLOW:
        lines += section(namespace)
    return "\n".join(lines).rstrip() + "\n"


def values():
    """The table of kinds of value that are taken or refused in another way: a reason, and in how many cells it counts."""
    by_rule, groups = json.loads(DIFFERENCES.read_text("utf-8"))
    rows = [f"| {reason} | {sum(cells.values())} |" for reason, cells in by_rule.items()]
    rows += [f"| {reason} | {sum(map(len, cells.values()))} |" for reason, cells in groups.items()]
    return "\n".join(["| difference | cells |", "|---|--:|", *rows]) + "\n"


def pages():
    """Both pages, whole."""
    differences, names = [path.read_text("utf-8") for path in PAGES]
    above, begin, rest = differences.partition(BEGIN)
    _, end, below = rest.partition(END)
    return [f"{above}{begin}\n{values()}\n{end}{below}", f"{names.partition(MARK)[0]}{MARK}\n{generated()}"]


if __name__ == "__main__":
    for path, text in zip(PAGES, pages(), strict=True):
        if sys.argv[1:] == ["--write"]:
            path.write_text(text, "utf-8")
        else:
            sys.stdout.write(text)
