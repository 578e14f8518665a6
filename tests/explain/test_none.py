"""Each broken program is explained with the code and the line that it is marked with; a right one is "connected"."""

import inspect
import re

import pytest

from tests.explain.programs import outside, questions, right, sources, values

MODULES = (outside, sources, values, questions)
MARK = re.compile(r"#\s*<-\s*(\w+)")


def programs_of(*modules):
    return [
        pytest.param(function, id=f"{module.__name__.rsplit('.', 1)[1]}-{name}")
        for module in modules
        for name, function in vars(module).items()
        if inspect.isfunction(function) and function.__module__ == module.__name__ and "explain(" in inspect.getsource(function)
    ]


def expected(function):
    """`(code, line)` by the mark in the source."""
    lines, first = inspect.getsourcelines(function)
    marks = [(found[1], first + i) for i, line in enumerate(lines) if (found := MARK.search(line))]
    assert len(marks) == 1, "a program has one mark"
    return marks[0]


@pytest.mark.parametrize("program", programs_of(*MODULES))
def test_a_broken_program(program, count):
    code, line = expected(program)
    gradients, diagnoses = program()
    listed = [gradients, diagnoses] if isinstance(gradients, (list, tuple)) else [[gradients], [diagnoses]]
    for gradient, diagnosis in zip(*listed, strict=True):
        assert (gradient is None) == (not diagnosis.connected)
    broken = [d for d in listed[1] if not d.connected]
    assert broken, "the explainer sees no break"
    assert (broken[0].code, broken[0].line) == (code, line), str(broken[0])
    assert broken[0].file == program.__code__.co_filename
    assert broken[0].cause and broken[0].mend
    count("broken programs explained")


@pytest.mark.parametrize("program", programs_of(right))
def test_a_program_that_is_right(program, count):
    gradients, diagnoses = program()
    listed = [gradients, diagnoses] if isinstance(gradients, (list, tuple)) else [[gradients], [diagnoses]]
    assert None not in [None if g is None else 0 for g in listed[0]]
    for diagnosis in listed[1]:
        assert diagnosis.code == "connected", str(diagnosis)
    count("right programs called connected")
