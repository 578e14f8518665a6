"""Files that were changed at random: refused with an error that names the file, or read; nothing half restored, nothing run."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

KINDS = ["Checkpoint", "Saver", "Weights", "Keras", "SavedModel", "Records", "Compressed", "Dataset"]


def mutations(folder, number, seed):
    """How many changed files of each kind were read, and how many refused."""
    command = [sys.executable, "-W", "ignore", Path(__file__).with_name("mutations.py"), folder, str(number), str(seed)]
    result = subprocess.run(command, capture_output=True, text=True, env=os.environ | {"PYTHONPATH": os.getcwd()})
    assert result.returncode == 0, result.stdout + result.stderr
    found = {kind: (int(read), int(refused)) for kind, read, refused in map(str.split, result.stdout.splitlines())}
    assert list(found) == KINDS
    return found


def check(found, number, count):
    for kind in ("Checkpoint", "Saver", "SavedModel", "Records"):  # which have checksums of all that is read
        assert found[kind][1] > 0.8 * number, found
    assert all(refused > 0.1 * number for _, refused in found.values()), found
    count("changed files that were read", sum(read for read, _ in found.values()))
    count("changed files that were refused", sum(refused for _, refused in found.values()))


@pytest.mark.skipif(not os.path.exists("/proc/self/statm"), reason="memory is bounded by what Linux says of it")
def test_some_hundred_changed_files(tmp_path, count):
    check(mutations(tmp_path, 30, 0), 30, count)


@pytest.mark.long
@pytest.mark.skipif(not os.path.exists("/proc/self/statm"), reason="memory is bounded by what Linux says of it")
def test_ten_thousand_changed_files(tmp_path, count):
    check(mutations(tmp_path, 1250, 1), 1250, count)
