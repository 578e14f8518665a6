"""Lines that run under a tape are noted while somebody wants them, each tape its own, and no longer."""

import contextlib
import sys

import pytest

import gradtape as tf
from gradtape._src.core.base import hooks
from gradtape._src.core.programs import journal
from gradtape._src.explain.ran import MOST, interpreter


def gate(x, wanted):
    if wanted:
        return x * 2.0
    return x


FIRST = gate.__code__.co_firstlineno


@pytest.fixture
def noting():
    noted = interpreter()
    with hooks.filled(hooks.watch, taped=noted.taped), contextlib.closing(noted):
        yield


def noted():
    """The lines of `gate` that the last tape saw, counted from its first; None if nothing was noted."""
    lines = journal.tapes[-1].lines
    return None if lines is None else sorted(n - FIRST for n in lines.get(__file__, ()) if n - FIRST in range(1, 4))


def test_the_lines_of_a_tape(noting):
    x = tf.constant(1.0)
    for wanted, ran in ((True, [1, 2]), (False, [1, 3]), (True, [1, 2])):
        with tf.GradientTape():
            gate(x, wanted)
        gate(x, not wanted)  # no tape is open
        assert noted() == ran


def test_tapes_in_each_other(noting):
    with tf.GradientTape():
        gate(1.0, True)
        with tf.GradientTape():
            gate(1.0, False)
        assert noted() == [1, 3]
    outer = journal.tapes[-2].lines[__file__]
    assert {FIRST + 1, FIRST + 2, FIRST + 3} <= outer


def test_the_first_tapes_of_a_line_only(noting):
    for step in range(MOST + 1):
        with tf.GradientTape():
            gate(1.0, True)
        assert (noted() is None) == (step == MOST)


def test_nothing_where_nobody_asks():
    with tf.GradientTape():
        gate(1.0, True)
        assert sys.gettrace() is None
    assert noted() is None


@pytest.mark.skipif(sys.version_info >= (3, 12), reason="a debugger and sys.monitoring do not meet")
def test_a_debugger_is_left_alone(noting):
    seen = []

    def debugger(frame, event, given):
        seen.append(event)

    before = sys.gettrace()
    sys.settrace(debugger)
    try:
        with tf.GradientTape():
            gate(1.0, True)
        assert sys.gettrace() is debugger
    finally:
        sys.settrace(before)
    assert noted() is None
    assert seen


def test_all_ends_with_the_notes():
    noting = interpreter()
    with hooks.filled(hooks.watch, taped=noting.taped), contextlib.closing(noting):
        left_open = tf.GradientTape()
        left_open.__enter__()
    assert sys.gettrace() is None
    left_open.__exit__(None, None, None)
