"""The allocator keeps the memory of large arrays once it is tuned, which `gradtape run` does and an import does not."""

import os
import platform
import subprocess
import sys

import pytest

from gradtape._src.core.platform.allocator import tune_allocator

# How many pages does the tenth array of 40 MB touch for the first time?
COUNT_FAULTS = """
import resource
import numpy as np
import gradtape
faults = lambda: resource.getrusage(resource.RUSAGE_SELF).ru_minflt
for _ in range(9):
    np.ones(10_000_000, "float32")
before = faults()
np.ones(10_000_000, "float32")
print(faults() - before)
"""
PAGES = 40_000_000 // 4096


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="only glibc has mallopt; elsewhere there is no effect")
def test_gradtape_run_keeps_the_memory_of_large_arrays(tmp_path, pytestconfig):
    script = tmp_path / "script.py"
    script.write_text(COUNT_FAULTS)
    # Huge pages or a preloaded allocator would hide what is counted here.
    environment = {**os.environ, "PYTHONPATH": str(pytestconfig.rootpath), "NUMPY_MADVISE_HUGEPAGE": "0"}
    for variable in ("GLIBC_TUNABLES", "LD_PRELOAD"):
        environment.pop(variable, None)

    def faults(*command):
        command = [sys.executable, *command, str(script)]
        return int(subprocess.run(command, env=environment, capture_output=True, check=True, timeout=120).stdout)

    assert faults() > PAGES // 2
    assert faults("-m", "gradtape", "run") < PAGES // 10


@pytest.mark.parametrize("system", ["darwin", "win32"])
def test_elsewhere_nothing_happens(monkeypatch, system):
    monkeypatch.setattr(sys, "platform", system)
    monkeypatch.setattr("ctypes.CDLL", None)
    assert tune_allocator() is False


def test_a_c_library_other_than_glibc_is_left_alone(monkeypatch):
    monkeypatch.setattr(sys, "platform", "linux")
    monkeypatch.setattr("ctypes.CDLL", lambda name: object())
    assert tune_allocator() is False
