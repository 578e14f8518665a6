"""Programs as users write them give what TensorFlow gives."""

import json
import pathlib

import numpy as np
import pytest

import gradtape as tf
from tests.guide.corpus import PROGRAMS
from tests.guide.corpus.record import numbers_of

NUMBERS = json.loads((pathlib.Path(__file__).parent / "corpus" / "numbers.json").read_text())
TOLERANCE = {"float64": 1e-9, "float16": 4e-3}  # of the largest number of an array; 3e-5 for other dtypes


def compare(ours, theirs, where):
    """The same structure, dtypes and shapes, and numbers that agree to rounding."""
    if isinstance(theirs, dict) and set(theirs) == {"dtype", "shape", "values"}:
        assert isinstance(ours, dict), f"{where}: {ours} instead of an array"
        assert (ours["dtype"], ours["shape"]) == (theirs["dtype"], theirs["shape"]), where
        if theirs["dtype"] == "object":
            assert ours["values"] == theirs["values"], where
            return
        tolerance = TOLERANCE.get(theirs["dtype"], 3e-5)
        finite = [abs(number) for number in theirs["values"] if np.isfinite(number)]
        np.testing.assert_allclose(ours["values"], theirs["values"], tolerance, tolerance * max(finite, default=0), err_msg=where)
    elif isinstance(theirs, dict):
        assert isinstance(ours, dict) and sorted(ours) == sorted(theirs), f"{where}: {ours}"
        for key in theirs:
            compare(ours[key], theirs[key], f"{where}[{key!r}]")
    elif isinstance(theirs, list):
        assert isinstance(ours, list) and len(ours) == len(theirs), f"{where}: {ours}"
        for i, (a, b) in enumerate(zip(ours, theirs, strict=True)):
            compare(a, b, f"{where}[{i}]")
    else:
        assert ours == theirs, where


def test_every_program_has_its_numbers():
    assert sorted(PROGRAMS) == sorted(NUMBERS)


@pytest.mark.parametrize("name", PROGRAMS)
def test_program_gives_what_tensorflow_gives(name):
    compare(numbers_of(PROGRAMS[name], tf), NUMBERS[name], name)
