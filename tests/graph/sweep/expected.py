"""The list `expected.txt` of the calls that are not the same as in eager code: the outcome here, the one in TensorFlow, the call.

`python -m tests.graph.sweep.expected` writes the list anew, `python -m tests.graph.sweep.record` TensorFlow's outcomes, which are
`invalid` where its eager code refuses the call or has no such function.
"""

from collections import Counter
from pathlib import Path

from tests.graph.sweep.calls import CALLS
from tests.graph.sweep.run import INVALID, KINDS, SAME, outcomes

TABLE = Path(__file__).with_name("expected.txt")
LINES = [f"{kind} {name}" for name in CALLS for kind in KINDS]
SIZE = 100  # of the calls that one process makes


def read():
    """Return `{call: (outcome here, outcome in TensorFlow)}`."""
    rows = [line.split(" ", 2) for line in TABLE.read_text("utf-8").splitlines()]
    return {call: (here, there) for here, there, call in rows}


def write(table):
    """Write the list."""
    TABLE.write_text("".join(f"{here} {there} {call}\n" for call, (here, there) in table.items()), "utf-8")


def main():
    before = read()
    found = [result for first in range(0, len(LINES), SIZE) for result in outcomes(LINES[first : first + SIZE])]
    write({line: (kind, before.get(line, (kind, INVALID))[1]) for line, kind, _ in found if kind != SAME})
    print(Counter(kind for _, kind, _ in found))


if __name__ == "__main__":
    main()
