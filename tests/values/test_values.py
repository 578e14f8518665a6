"""Public functions take and refuse each kind of value as TensorFlow does, in eager code, functions, graphs and layers."""

import pytest

import gradtape as tf
from tests.values.cells import CONTEXTS, ROWS, agree, kinds_of
from tests.values.differences import BY_RULE, EXPECTED, GROUPS, LISTED, compared

pytestmark = pytest.mark.filterwarnings("ignore")  # of variables that a function makes, of values that cannot be watched


def test_the_record_has_each_cell():
    assert {row: list(cells) for row, cells in EXPECTED.items()} == {row: kinds_of(row) for row in ROWS}


@pytest.mark.parametrize("context", CONTEXTS)
def test_each_cell_is_what_tensorflow_gives_or_a_listed_difference(context, count):
    rows = [row for row in ROWS if row.startswith(f"{context} ")]
    wrong, by_rule = compared(tf, rows)
    assert not wrong, "\n".join(map(" | ".join, wrong))
    assert by_rule == {reason: cells[context] for reason, cells in BY_RULE.items() if context in cells}
    count("functions by kinds of value compared with TensorFlow's", sum(len(EXPECTED[row]) for row in rows))


def test_what_is_listed_differs():
    assert [cell for cell, here in LISTED.items() if agree(EXPECTED[cell[0]][cell[1]], here)] == []
    assert len(LISTED) == sum(len(cells) for rows in GROUPS.values() for cells in rows.values()), "a cell is listed twice"
