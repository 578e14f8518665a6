"""A fork has none of the threads that compute: whatever needs them raises and says to spawn, and nothing waits for ever."""

import multiprocessing
import os
import subprocess
import sys
from pathlib import Path

import pytest


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork on this system")
def test_every_way_to_compute_in_a_fork(tmp_path, count):
    command = [sys.executable, Path(__file__).with_name("forks.py"), tmp_path]
    result = subprocess.run(command, capture_output=True, text=True)
    *lines, last = result.stdout.splitlines()
    found = dict(line.split(maxsplit=1) for line in lines)
    working = {"value", "variable", "printed", "save", "fork"}
    assert {name for name, what in found.items() if what == "works"} == working, result.stdout + result.stderr
    assert {what for name, what in found.items() if name not in working} == {"raises True"}
    assert len(found) == 18 and last == "parent True 1 2"
    count("ways to compute in a fork", len(found))


def twice(number):
    import gradtape as tf

    return float(tf.function(lambda x: x * 2.0)(tf.constant(number)))


@pytest.mark.long
def test_a_spawned_process_computes():
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        assert pool.map(twice, [1.0, 2.0]) == [2.0, 4.0]
