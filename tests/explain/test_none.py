"""Each broken program is explained with the code and the line that it is marked with; a right one is "connected"."""

import pytest

from tests.explain.programs import (
    branches,
    callers,
    functions,
    inside,
    inside_more,
    inside_right,
    instead,
    kept,
    layers,
    loops,
    outside,
    questions,
    right,
    sources,
    values,
)
from tests.explain.table import answers, check, programs_of


@pytest.mark.parametrize(
    "program",
    programs_of(
        branches, callers, outside, sources, values, questions, functions, inside, inside_more, instead, kept, layers, loops
    ),
)
def test_a_broken_program(program, count):
    found = answers(program)
    for gradient, diagnosis in found:
        assert (gradient is None) == (not diagnosis.connected)
    check(program, next(diagnosis for _, diagnosis in found if not diagnosis.connected))
    count("broken programs explained")


@pytest.mark.parametrize("program", programs_of(right, inside_right))
def test_a_program_that_is_right(program, count):
    for gradient, diagnosis in answers(program):
        assert gradient is not None
        assert diagnosis.code == "connected", str(diagnosis)
    count("right programs called connected")
