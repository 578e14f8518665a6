"""Ctrl-C at random moments in each kind of work: it reaches the user, variables are whole, and the work goes on."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

KINDS = ["Eager", "Collected", "Function", "Session", "Fit", "Pipeline", "Save"]


def signals(folder, number, seed):
    command = [sys.executable, "-W", "ignore", Path(__file__).with_name("signals.py"), folder, str(number), str(seed)]
    result = subprocess.run(command, capture_output=True, text=True, env=os.environ | {"PYTHONPATH": os.getcwd()})
    assert result.returncode == 0 and not result.stderr, result.stdout + result.stderr
    assert [line.split()[0] for line in result.stdout.splitlines()] == KINDS


@pytest.mark.skipif(sys.platform == "win32", reason="there are no signals of this kind on Windows")
def test_some_interrupts(tmp_path, count):
    signals(tmp_path, 4, 0)
    count("interrupts by a real SIGINT", 4 * len(KINDS))


@pytest.mark.long
@pytest.mark.skipif(sys.platform == "win32", reason="there are no signals of this kind on Windows")
def test_five_hundred_interrupts(tmp_path, count):
    signals(tmp_path, 75, 1)
    count("interrupts by a real SIGINT", 75 * len(KINDS))
