"""The shrinker of random programs, and what counts as a difference."""

import ast

import numpy as np
import pytest

from tests.fuzz.control_programs import Program, draw
from tests.fuzz.shrink import shrink
from tests.fuzz.ways import differences, script, unlike

SOURCE = """\
def program(x0, x1):
    a, b = (x0, x1)
    for i in tf.range(3):
        if tf.reduce_sum(a) > 0.137:
            a = 0.7 * a + 0.3 * tf.tanh(call('sort-sort', 'float16', fit(b, (2, 1, 3)), a))
            b = tf.sin(a)
    v0.assign(b)
    value = tf.reduce_sum(a)
    return (value, [b])
"""
NUMBERS = [np.array([0.3, -0.7, 1.2]), np.array([0.1, 0.2, 0.4])]


def test_a_program_is_reduced_to_the_statements_and_operands_that_fail():
    def fails(program):
        return all(words in program.source for words in ("call('sort-sort'", "fit(", "return (value, [b])"))

    found = shrink(Program(SOURCE, NUMBERS, NUMBERS), fails)
    assert found.source.splitlines() == [
        "def program(x0, x1):",
        "    a = call('sort-sort', 'float64', fit(b, ()), a)",
        "    return (value, [b])",
    ]
    assert all(np.array_equal(x, [1.0, 1.0, 1.0]) for x in (*found.inputs, *found.variables))


def test_what_fails_in_another_way_is_no_smaller_program():
    program = Program(SOURCE, NUMBERS, NUMBERS)
    assert shrink(program, lambda candidate: False) is program
    asked = []
    shrink(program, lambda candidate: asked.append(candidate.source), tries=7)
    assert len(asked) == 7
    assert len(set(asked)) == 7


@pytest.mark.parametrize("seed", range(3))
def test_every_candidate_is_python(seed):
    """With branches and loops, whose blocks may not be empty."""

    def fails(program):
        return bool(ast.parse(program.source)) and "cos" in program.source

    program = draw(seed)
    assert len(shrink(program, fails).source) <= len(program.source)


def test_the_reduced_program_is_a_script():
    text = script(Program(SOURCE, NUMBERS, NUMBERS))
    (call,) = [node for node in ast.walk(ast.parse(text)) if isinstance(node, ast.Call)]
    assert "for i in tf.range(3)" in call.args[0].value
    assert ast.literal_eval(call.args[1]) == [x.tolist() for x in NUMBERS]


@pytest.mark.parametrize(
    "received, expected, same",
    [
        ([1.0, np.nan], [1.0, np.nan], True),
        ([1.0, np.nan], [1.0, 2.0], False),
        ([np.inf, 1.0], [np.inf, 1.0], True),
        ([-np.inf, 1.0], [np.inf, 1.0], False),
        ([1e-9, 1.0], [0.0, 1.0], True),  # rounding is relative to the largest
        ([1e-6, 1.0], [0.0, 1.0], False),
        ([], [], True),
        ([1.0], [[1.0]], False),
    ],
)
def test_two_results_agree_to_rounding_with_special_values_at_the_same_places(received, expected, same):
    assert (unlike(np.array(received), np.array(expected), 1e-7) == "") == same


def test_programs_that_every_way_refuses_do_not_differ():
    program = Program(SOURCE, NUMBERS, NUMBERS)
    error = ValueError("no")
    assert differences(program, {"recorded": error, "JAX": error}) == []
    ((way, what, text),) = differences(program, {"recorded": {}, "JAX": error})
    assert (way, what, text) == ("JAX", "raises ValueError", "ValueError: no")
    ((way, *_),) = differences(program, {"recorded": error, "JAX": {}})
    assert way == "recorded"
