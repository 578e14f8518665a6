"""Write expected.json, what TensorFlow gives for each cell: `python -m tests.values.record`, where it is installed."""

import json
from pathlib import Path

from tests.values.cells import ROWS, kinds_of, outcome

EXPECTED = Path(__file__).with_name("expected.json")

if __name__ == "__main__":
    import tensorflow as tf

    rows = [
        f"{json.dumps(row)}: {json.dumps({kind: outcome(tf, row, kind) for kind in kinds_of(row)}, ensure_ascii=False)}"
        for row in ROWS
    ]
    EXPECTED.write_text("{\n" + ",\n".join(rows) + "\n}\n", "utf-8")
