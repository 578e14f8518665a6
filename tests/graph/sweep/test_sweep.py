"""Public functions on placeholders of unknown extents and of unknown rank, forward and gradient, against eager code.

`expected.txt` lists what is not the same: for each call its outcome, `error` or `different`. A call that is not listed must be
the same, one that is listed does what stands there or is the same, so the list only becomes shorter. By default a sample is run.

`python -m tests.graph.sweep.test_sweep` writes the list anew.
"""

from collections import Counter
from pathlib import Path

import pytest

from tests.graph.sweep.calls import CALLS
from tests.graph.sweep.run import DEATH, DIFFERENT, ERROR, KINDS, SAME, outcomes

TABLE = Path(__file__).with_name("expected.txt")
EXPECTED = dict(line.split(" ", 1)[::-1] for line in TABLE.read_text("utf-8").splitlines())
LINES = [f"{kind} {name}" for name in CALLS for kind in KINDS]
SAMPLE = LINES[7::61]
SIZE = 100  # of the calls that one process makes


def check(lines, count):
    wrong = []
    for line, kind, told in outcomes(lines):
        count(f"calls of the sweep of unknown shapes: {kind}")
        if kind not in (SAME, EXPECTED.get(line)):
            wrong.append(f"{line}: {kind}, expected {EXPECTED.get(line, SAME)}. {told}")
    assert not wrong, "\n".join(wrong)


def test_a_sample(count):
    check(SAMPLE, count)


@pytest.mark.long
@pytest.mark.parametrize("first", range(0, len(LINES), SIZE))
def test_every_call(first, count):
    check(LINES[first : first + SIZE], count)


def test_the_list_has_calls_only():
    assert set(EXPECTED) <= set(LINES)
    assert set(EXPECTED.values()) <= {ERROR, DIFFERENT, DEATH}


if __name__ == "__main__":
    found = [result for first in range(0, len(LINES), SIZE) for result in outcomes(LINES[first : first + SIZE])]
    TABLE.write_text("".join(f"{kind} {line}\n" for line, kind, _ in found if kind != SAME), "utf-8")
    print(Counter(kind for _, kind, _ in found))
