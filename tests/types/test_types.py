"""The types that functions state are those of their results."""

import runpy
from pathlib import Path

import gradtape as tf


def test_results_are_what_a_type_checker_takes_them_for():
    names = runpy.run_path(str(Path(__file__).with_name("program.py")))
    assert all(isinstance(result, tf.Tensor) for result in names["results"])
    assert isinstance(names["v"], tf.Variable)
    tape, y, v = names["tape"], names["y"], names["v"]
    assert isinstance(tape.gradient(y, v), tf.Tensor)
    assert [type(g) for g in tape.gradient(y, [v])] == [type(y)]
    assert isinstance(tape.gradient(y, {"a": v})["a"], tf.Tensor)
