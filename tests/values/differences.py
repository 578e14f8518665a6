"""The cells in which gradtape differs from TensorFlow on purpose: by a rule, or one by one in `differences.json`.

`python -m tests.values.differences` prints the cells that differ and are not listed, and how many are by rules.
"""

import json
from collections import Counter
from pathlib import Path

from tests.values.cells import Raised, agree
from tests.values.kinds import VARIABLES

HERE = Path(__file__).parent
EXPECTED = json.loads((HERE / "expected.json").read_text("utf-8"))
BY_RULE, GROUPS = json.loads((HERE / "differences.json").read_text("utf-8"))
LISTED = {(row, kind): here for rows in GROUPS.values() for row, cells in rows.items() for kind, here in cells.items()}

TAKEN = (
    "TensorFlow refuses what stands for a tensor (a variable of any kind, what an assignment returns, `IndexedSlices`, "
    "an array, a list), or the tensor itself, at some places. Here it gives what TensorFlow gives for a tensor or variable"
)
INSIDE = (
    "Refused by both. TensorFlow's class comes from inside of it (`AttributeError`, `SystemError`, `RecursionError`, …). Here it "
    "is a `TypeError`, `ValueError` or `NotImplementedError`, with what to do instead"
)
STAND_FOR_TENSORS = {*VARIABLES, "tensor", "slices", "array", "list", "list of tensors"}
OF_PYTHON = {
    "AttributeError",
    "SystemError",
    "RecursionError",
    "StagingError",
    "InternalError",
    "IndexError",
    "NotImplementedError",
}
SAID = {"TypeError", "ValueError", "InvalidArgumentError", "NotImplementedError"}


def rule(row, kind, here):
    """The rule by which a cell differs from what TensorFlow gives for it; None if there is none."""
    there = EXPECTED[row][kind]
    if isinstance(here, Raised):
        return INSIDE if there in OF_PYTHON and here in SAID else None
    refused = there.isidentifier() and there.endswith(("Error", "Exception"))
    return TAKEN if refused and kind in STAND_FOR_TENSORS and any(agree(like, here) for like in given_for_tensors(row)) else None


def given_for_tensors(row):
    """What TensorFlow gives for a tensor and a variable in the place of a value, in this context and others."""
    name = row.partition(" ")[2]
    return [EXPECTED[r][like] for r in EXPECTED if r.partition(" ")[2] == name for like in ("tensor", "variable")]


def compared(tf, rows):
    """The cells that are neither as in TensorFlow, nor by a rule, nor as listed (row, kind, what is there, what is here); and how
    many there are by each rule.
    """
    from tests.values.cells import outcome

    found, by_rule = [], Counter()
    for row in rows:
        for kind, there in EXPECTED[row].items():
            here = outcome(tf, row, kind)
            listed = LISTED.get((row, kind))
            if agree(there if listed is None else listed, here):
                continue
            if listed is None and (reason := rule(row, kind, here)):
                by_rule[reason] += 1
            else:
                found.append((row, kind, there, here))
    return found, by_rule


if __name__ == "__main__":
    import gradtape
    from tests.values.cells import CONTEXTS

    counts = {}
    for context in CONTEXTS:
        cells, by_rule = compared(gradtape, [row for row in EXPECTED if row.startswith(f"{context} ")])
        for cell in cells:
            print(*cell, sep=" | ")
        for reason, number in by_rule.items():
            counts.setdefault(reason, {})[context] = number
    print(json.dumps(counts, indent=1, ensure_ascii=False))
