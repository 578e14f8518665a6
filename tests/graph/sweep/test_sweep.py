"""Public functions on placeholders of unknown extents and of unknown rank, forward and gradient, against eager code.

`expected.txt` lists what is not the same. A call that is not listed must be the same, one that is listed does what stands there
or is the same, so the list only becomes shorter. By default a sample is run.
"""

import pytest

from tests.graph.sweep.expected import LINES, SIZE, read
from tests.graph.sweep.run import DIFFERENT, ERROR, INVALID, SAME, outcomes

EXPECTED = read()
SAMPLE = LINES[7::61]
SHARE = 0.02  # of the calls may be errors that are none in TensorFlow


def check(lines, count):
    wrong = []
    for line, kind, told in outcomes(lines):
        count(f"calls of the sweep of unknown shapes: {kind}")
        expected, _ = EXPECTED.get(line, (SAME, SAME))
        if kind not in (SAME, expected):
            wrong.append(f"{line}: {kind}, expected {expected}. {told}")
    assert not wrong, "\n".join(wrong)


def test_a_sample(count):
    check(SAMPLE, count)


@pytest.mark.long
@pytest.mark.parametrize("first", range(0, len(LINES), SIZE))
def test_every_call(first, count):
    check(LINES[first : first + SIZE], count)


def test_the_list_has_calls_only():
    assert set(EXPECTED) <= set(LINES)
    assert {outcome for pair in EXPECTED.values() for outcome in pair} <= {ERROR, DIFFERENT, SAME, INVALID}


def test_few_calls_are_errors_that_are_none_in_tensorflow():
    errors = [line for line, (here, there) in EXPECTED.items() if here == ERROR and there != ERROR]
    assert len(errors) <= SHARE * len(LINES)


def test_calls_differ_where_those_of_tensorflow_do_not_agree_either():
    assert [line for line, (here, there) in EXPECTED.items() if here == DIFFERENT and there in (SAME, INVALID)] == []
