"""The cells in which gradtape differs from TensorFlow on purpose: `differences.json`, a reason for each group of them.

`python -m tests.values.differences` prints the cells that differ and are not listed.
"""

import json
from pathlib import Path

HERE = Path(__file__).parent
EXPECTED = json.loads((HERE / "expected.json").read_text("utf-8"))
GROUPS = json.loads((HERE / "differences.json").read_text("utf-8"))
LISTED = {(row, kind): here for rows in GROUPS.values() for row, cells in rows.items() for kind, here in cells.items()}


def unlisted(tf, rows=None):
    """The cells that are neither as in TensorFlow nor as listed: row, kind, what is there, what is here."""
    from tests.values.cells import agree, outcome

    found = []
    for row in rows or EXPECTED:
        for kind, there in EXPECTED[row].items():
            here = outcome(tf, row, kind)
            if not agree(LISTED.get((row, kind), there), here):
                found.append((row, kind, there, here))
    return found


if __name__ == "__main__":
    import gradtape

    for cell in unlisted(gradtape):
        print(*cell, sep=" | ")
