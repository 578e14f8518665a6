"""Functions and control flow give what TensorFlow gives."""

import json
import pathlib

import numpy as np
import pytest

import gradtape as tf
from tests.control.programs import PROGRAMS
from tests.control.record import plain

NUMBERS = json.loads((pathlib.Path(__file__).parent / "programs.json").read_text())


def compare(ours, theirs, where):
    """The same structure, dtypes and shapes, and numbers that agree to a few units of the last place."""
    if isinstance(theirs, dict) and set(theirs) == {"dtype", "shape", "values"}:
        assert isinstance(ours, dict), f"{where}: {ours} instead of an array"
        assert (ours["dtype"], ours["shape"]) == (theirs["dtype"], theirs["shape"]), where
        tolerance = 1e-9 if theirs["dtype"] == "float64" else 1e-5
        np.testing.assert_allclose(ours["values"], theirs["values"], tolerance, 1e-12, err_msg=where)
    elif isinstance(theirs, dict):
        assert sorted(ours) == sorted(theirs), where
        for key in theirs:
            compare(ours[key], theirs[key], f"{where}[{key!r}]")
    elif isinstance(theirs, list):
        assert isinstance(ours, list) and len(ours) == len(theirs), where
        for i, (a, b) in enumerate(zip(ours, theirs, strict=True)):
            compare(a, b, f"{where}[{i}]")
    else:
        assert ours == theirs, where


# XLA takes seconds for a gradient of second order of a loop in a loop; test_loops.py has those of first order by default.
LONG = {"nested_while": pytest.mark.long}


@pytest.mark.parametrize("name", [pytest.param(name, marks=LONG.get(name, ())) for name in PROGRAMS])
def test_program_gives_what_tensorflow_gives(name):
    compare(plain(PROGRAMS[name](tf)), NUMBERS[name], name)
