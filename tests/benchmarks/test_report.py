"""The benchmark's arithmetic: ratios, targets, comparison of results."""

import numpy as np
import pytest

from benchmarks import report
from benchmarks.measure import Line, deviation


@pytest.fixture
def line():
    return Line(
        "a",
        "a step",
        "s",
        targets={"torch_eager": 0.5, "jax_jit": 2.0, "tensorflow_eager": 1.0},
        limit=1e-4,
        numbers={"gradtape": 200e-6, "torch_eager": 800e-6, "jax_jit": 50e-6},
        reasons={"tensorflow_eager": "the process ended with status 1"},
        deviations={"gradtape": 1e-7, "jax_jit": 3e-6},
    )


def test_targets_are_judged_by_the_ratio_and_the_limit_by_the_number(line):
    assert report.verdicts(line) == [
        (True, "≤ 0.5 × PyTorch eager"),
        (False, "≤ 2.0 × jax.jit"),
        (False, "≤ 100 µs"),
    ]


def test_numbers_that_are_not_compared_have_no_ratio(line):
    line.compared = False
    assert report.cell(line, "jax_jit") == ("50.0 µs",)
    assert report.cell(line, "torch_compile") == ("–",)


@pytest.mark.parametrize(
    ("number", "unit", "text"),
    [
        (1.234, "s", "1.23 s"),
        (0.0567, "s", "56.7 ms"),
        (123.4e-6, "s", "123 µs"),
        (3 * 2**20, "bytes", "3.00 MiB"),
        (-5000, "bytes", "-4.88 KiB"),
        (0, "bytes", "0 B"),
        (-23, "count", "-23"),
    ],
)
def test_quantities_have_three_digits(number, unit, text):
    assert report.quantity(number, unit) == text


@pytest.mark.parametrize(
    ("arrays", "reference", "expected"),
    [
        ([[1.0, 2.0]], [[1.0, 2.0]], 0.0),
        ([[1.0, 2.0], [3.0]], [[1.0, 4.0], [3.0]], 0.5),
        ([[1.0], [3.0]], [[1.0], [2.0]], 0.5),
        ([[1.0, 2.0]], [[1.0, 2.0, 3.0]], np.inf),
        ([[1.0]], [[1.0], [2.0]], np.inf),
        ([[0.0]], [[0.0]], 0.0),
    ],
)
def test_deviation_is_relative_to_the_largest_element_of_each_array(arrays, reference, expected):
    assert deviation([np.array(a) for a in arrays], [np.array(a) for a in reference]) == expected


def test_a_result_that_is_not_a_number_deviates():
    assert not deviation([np.array([1.0, np.nan])], [np.array([1.0, 2.0])]) <= 1e9
    assert not deviation([np.array([1.0]), np.array([np.nan])], [np.array([1.0]), np.array([2.0])]) <= 1e9
