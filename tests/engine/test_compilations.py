"""The log tells of compilations: of each if that is asked for, of long ones, and of a line that makes a hundred programs."""

import itertools

import numpy as np
import pytest

import gradtape as tf
from gradtape._src.core.engine import compilations
from gradtape._src.core.programs.program import Program
from gradtape._src.core.values.aval import aval


@pytest.fixture(autouse=True)
def nothing_known(compiled_early):
    tf.config.clear_cache()
    yield
    tf.config.log_compiles(False)


def ticking(monkeypatch, seconds):
    """Let each compilation take so many seconds."""
    ticks = itertools.count()
    monkeypatch.setattr(compilations, "clock", lambda: next(ticks) * seconds)


def step(rows):
    x = tf.constant(np.ones([rows, 2], np.float32))
    return float(tf.reduce_sum(tf.tanh(x) * x))


LINE = f"test_compilations.py:{step.__code__.co_firstlineno + 2} (in step)"


def test_each_compilation_is_told_of_by_line_shapes_seconds_and_number(monkeypatch, caplog):
    ticking(monkeypatch, 0.25)
    step(3)
    assert not caplog.text
    tf.config.log_compiles()
    step(3)
    assert not caplog.text
    step(4)
    (record,) = caplog.messages
    assert record == (
        f"Compiled a program of 3 ops of {LINE}, the line's program number 2, in 0.25 s, after 0 runs op by op. "
        "It takes float32[4, 2]."
    )


def test_a_program_that_ran_op_by_op_before_and_an_op_by_itself(monkeypatch, caplog):
    ticking(monkeypatch, 0.5)
    tf.config.compile_early(False)
    tf.config.log_compiles()
    compiled, runs = tf.config.cache_info()["programs"], 0
    while tf.config.cache_info()["programs"] == compiled:
        step(2)
        runs += 1
    assert f"in 0.50 s, after {runs - 1} runs op by op" in caplog.messages[-1]
    caplog.clear()
    x = tf.constant(np.ones([3], np.float32))
    for _ in range(20):
        x = tf.math.bessel_i0(tf.tanh(x))
    x.numpy()
    assert caplog.messages == ["Compiled the op BesselI0 by itself in 0.50 s."]


@pytest.mark.parametrize(("seconds", "told"), [(1.5, 0), (2.5, 1)])
def test_a_compilation_of_more_than_two_seconds_is_told_of(monkeypatch, caplog, seconds, told):
    ticking(monkeypatch, seconds)
    step(5)
    assert len(caplog.messages) == told
    assert all(f"in {seconds:.2f} s" in message for message in caplog.messages)


def test_a_line_that_makes_its_hundredth_program_is_warned_of_once(monkeypatch, caplog):
    ticking(monkeypatch, 0.0)
    monkeypatch.setattr(compilations, "MANY", 3)
    for rows in (1, 2, 2, 3, 4, 5):
        step(rows)
        assert len(caplog.messages) == (rows > 2)
    assert caplog.messages[0].startswith(
        f"{LINE} has made 3 programs, each of which was compiled. The last one takes float32[3, 2], the one before "
        "float32[2, 2]. If shapes differ from step to step, pad or bucket them to a few."
    )


def test_a_program_that_takes_the_results_of_an_op_that_has_several(caplog):
    tf.config.log_compiles()
    owner = Program(
        (), (), ((aval([2], np.dtype("float32")), aval([], np.dtype("int32"))), aval([3, 2], np.dtype("float32"))), ()
    )
    compilations.note(owner, 0.0)
    assert caplog.messages[-1].endswith("It takes float32[3, 2], (float32[2], int32[]).")
