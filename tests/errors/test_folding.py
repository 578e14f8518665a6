"""Reports and log lines end at words on a terminal; a file, and a program's own handlers, get them whole."""

import io
import logging
import os
import sys

import pytest

from gradtape._src.core.base.folding import Folding, folded

TEXT = "script.py:10: left_library: the value left the library\n  fix: write `factor = tf.convert_to_tensor(scale)`"
FOLDED = """\
script.py:10: left_library: the value
  left the library
  fix: write `factor =
    tf.convert_to_tensor(scale)`"""


class Terminal(io.StringIO):
    def isatty(self):
        return True

    def fileno(self):
        return 2


@pytest.fixture
def terminal(monkeypatch):
    monkeypatch.delenv("COLUMNS", raising=False)
    monkeypatch.setattr(os, "get_terminal_size", lambda descriptor: os.terminal_size((40, 24)))
    return Terminal()


def test_lines_are_folded_at_the_width_of_the_terminal(terminal):
    assert folded(TEXT, terminal) == FOLDED
    assert folded("a" * 60, terminal) == "a" * 60  # a path stays whole, so that an editor finds it
    assert folded("  +  loss = a + b" + 60 * " ", terminal).endswith(60 * " ")  # a line of a diff is code to copy
    assert folded(TEXT, io.StringIO()) == TEXT
    assert folded("温度差 = 温度の初期値の平均 - 273.15 + 温度", terminal) == "温度差 = 温度の初期値の平均 - 273.15 +\n  温度"


def test_the_environment_may_give_the_width(terminal, monkeypatch):
    monkeypatch.setenv("COLUMNS", "50")
    assert max(map(len, folded(TEXT, terminal).split("\n"))) in range(41, 51)


def test_a_terminal_without_a_size_gets_whole_lines(terminal, monkeypatch):
    def fails(descriptor):
        raise OSError(25, "Inappropriate ioctl for device")

    monkeypatch.setattr(os, "get_terminal_size", fails)
    assert folded(TEXT, terminal) == TEXT


@pytest.mark.parametrize("handled", [False, True])
def test_a_log_line_is_folded_unless_a_program_handles_it(terminal, monkeypatch, handled):
    monkeypatch.setattr(sys, "stderr", terminal)
    monkeypatch.setattr(logging.Logger, "hasHandlers", lambda self: handled)
    record = logging.LogRecord("gradtape", logging.WARNING, __file__, 1, "%s", (TEXT,), None)
    assert Folding().filter(record)
    assert record.getMessage() == (TEXT if handled else FOLDED)
    assert any(isinstance(one, Folding) for one in logging.getLogger("gradtape").filters)
