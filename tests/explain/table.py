"""The programs of a module, and what their marks say."""

import ast
import inspect
import re

import pytest

MARK = re.compile(r"#\s*<-\s*(\w+)")


def programs_of(*modules):
    """The programs, as parameters of a test."""
    return [
        pytest.param(function, id=f"{module.__name__.rsplit('.', 1)[1]}-{name}")
        for module in modules
        for name, function in vars(module).items()
        if inspect.isfunction(function)
        and function.__module__ == module.__name__
        and "tf.autodiff.explain" in inspect.getsource(function)
    ]


def marked(function):
    """`(code, line)` by the mark in the source."""
    lines, first = inspect.getsourcelines(function)
    marks = [(found[1], first + i) for i, line in enumerate(lines) if (found := MARK.search(line))]
    assert len(marks) == 1, "a broken program has one mark"
    return marks[0]


def answers(program):
    """`[(gradient, diagnosis), …]`, one for each source."""
    gradients, diagnoses = program()
    if not isinstance(gradients, (list, tuple)):
        return [(gradients, diagnoses)]
    return list(zip(gradients, diagnoses, strict=True))


PARTS = {"with", ".numpy()", "float()", "int()", "complex()", "/", "="}  # of a statement, that a mend may name


def parse(mend):
    """That the code in a mend is Python."""
    for code in re.findall(r"`([^`]*)`", mend):
        if code not in PARTS and "…" not in code:
            ast.parse(code + " pass" if code.endswith(":") else code + "\ndef f(): pass" if code.startswith("@") else code)


def check(program, diagnosis):
    """That a diagnosis says what the program's mark says."""
    assert (diagnosis.code, diagnosis.line) == marked(program), str(diagnosis)
    assert diagnosis.file == program.__code__.co_filename
    assert diagnosis.cause and diagnosis.mend
    parse(diagnosis.mend)
