"""Print `docs/compatibility.md` as the code has it now. With `--write`, into the file; what stands above its marks stays.

The names are TensorFlow's of `names.json`, looked up in gradtape; the reasons are those of the AttributeError. What differs by
the kind of a value is listed in `tests/values`.
"""

import functools
import inspect
import json
import sys
from collections import defaultdict
from pathlib import Path

import gradtape
from gradtape._src.compat.reasons import REASONS, reason
from gradtape._src.compat.stand_ins import is_stand_in

PAGE = Path(__file__).parents[2] / "docs" / "compatibility.md"
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
    """The names of one namespace: those that are there, then those that are not, by reason."""
    title = "tf" if namespace == "tf" else f"tf.{namespace}"
    lines = [f"### {title}", ""]
    if namespace != "tf" and not exists(namespace):
        names = [name for name in TENSORFLOW[namespace] if stands_in(dotted(namespace, name))]
        return [*lines, reason(namespace), "", *([f"Names only: {code(names)}", ""] if names else [])]
    owner = gradtape if namespace == "tf" else find(namespace)
    absent = missing(namespace)
    there = [name for name in TENSORFLOW[namespace] if name not in absent]
    lines += [f"There: {code(there)}", ""]
    own = [name for name in dir(owner) if not name.startswith("_") and name not in TENSORFLOW[namespace]]
    if own and inspect.ismodule(owner):
        lines += [f"gradtape's own: {code(own)}", ""]
    if absent:
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
        lines += ["| not there | why |", "|---|---|", *rows, ""]
    return lines


def overview():
    """One row for each namespace: how many of TensorFlow's names are there."""
    rows = ["| namespace | TensorFlow's names | there |", "|---|---|---|"]
    for namespace, names in TENSORFLOW.items():
        title = "tf" if namespace == "tf" else f"tf.{namespace}"
        anchor = title.lower().replace(".", "")
        there = [name for name in names if exists(dotted(namespace, name))]
        rows.append(f"| [{title}](#{anchor}) | {len(names)} | {len(there)} |")
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


def page():
    """The whole page."""
    above, mark, _ = PAGE.read_text("utf-8").partition(MARK)
    above, begin, rest = above.partition(BEGIN)
    _, end, below = rest.partition(END)
    return f"{above}{begin}\n{values()}\n{end}{below}{mark}\n{generated()}"


if __name__ == "__main__":
    if sys.argv[1:] == ["--write"]:
        PAGE.write_text(page(), "utf-8")
    else:
        sys.stdout.write(page())
