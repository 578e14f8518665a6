"""Write expected.json, what TensorFlow gives for each cell: `python -m tests.values.record`, where it is installed.

Each row runs in a process of its own, as errors from inside of TensorFlow may leave contexts open that change later cells.
"""

import json
import multiprocessing
from pathlib import Path

from tests.values.cells import ROWS, kinds_of, outcome

EXPECTED = Path(__file__).with_name("expected.json")


def recorded(row):
    """The line of a row."""
    import tensorflow as tf

    cells = {kind: outcome(tf, row, kind) for kind in kinds_of(row)}
    return f"{json.dumps(row)}: {json.dumps(cells, ensure_ascii=False)}"


if __name__ == "__main__":
    import tensorflow  # noqa: F401 (before the processes fork)

    with multiprocessing.get_context("fork").Pool(1, maxtasksperchild=1) as pool:
        rows = list(pool.imap(recorded, ROWS))
    EXPECTED.write_text("{\n" + ",\n".join(rows) + "\n}\n", "utf-8")
