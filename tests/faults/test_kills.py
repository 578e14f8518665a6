"""`kill -9` in the midst of a save: a whole file is left, the old one or the new one, and the next save clears up."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

import gradtape as tf
from gradtape._src.files import whole

KINDS = ["Checkpoint", "Saver", "Keras", "Weights", "SavedModel", "Dataset", "Summaries"]


def kills(folder, *how):
    """The number of kills of each kind of save."""
    command = [sys.executable, Path(__file__).with_name("kills.py"), folder, *how]
    result = subprocess.run(command, capture_output=True, text=True, env=os.environ | {"PYTHONPATH": os.getcwd()})
    assert result.returncode == 0, result.stdout + result.stderr
    found = {kind: int(number) for kind, number in map(str.split, result.stdout.splitlines())}
    assert list(found) == KINDS
    return found


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork on this system")
def test_a_kill_at_each_step_of_a_save(tmp_path, count):
    found = kills(tmp_path, "steps")
    assert all(number > 2 for number in found.values()), found
    count("kills of a process that saves", sum(found.values()))


@pytest.mark.long
@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork on this system")
def test_a_kill_at_any_moment_of_a_save(tmp_path, count):
    found = kills(tmp_path, "moments", "100", "0")
    count("kills of a process that saves", sum(found.values()))


def leave(folder, *names):
    for name in names:
        (folder / name).write_text("left")


def test_only_what_is_ours_and_nobody_writes_is_removed(tmp_path):
    ours = [".0123456789abcdef.part.ck-1.safetensors", ".fedcba9876543210.part.model.keras"]
    others = [".0123456789abcdef.part", "0123456789abcdef.part.x", ".012.part.x", "a.part", ".ck.abcdefgh.part"]
    leave(tmp_path, *ours, *others)
    with whole.writing(str(tmp_path), None):  # as another process that is saving there
        tf.train.Checkpoint(v=tf.Variable(1.0)).write(tmp_path / "ck")
    assert {*os.listdir(tmp_path)} == {*ours, *others, "ck.safetensors"}
    tf.train.Checkpoint(v=tf.Variable(2.0)).write(tmp_path / "ck")
    assert {*os.listdir(tmp_path)} == {*others, "ck.safetensors"}


def test_a_file_that_is_replaced_keeps_its_mode_and_a_link_its_place(tmp_path):
    target, link = tmp_path / "target.safetensors", tmp_path / "ck.safetensors"
    target.write_text("old")
    target.chmod(0o640)
    link.symlink_to(target)
    tf.train.Checkpoint(v=tf.Variable(1.0)).write(tmp_path / "ck")
    assert link.is_symlink() and target.stat().st_mode & 0o777 == 0o640
    assert tf.train.load_variable(target, "v") == 1.0


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="this system has no /dev/full")
def test_a_device_is_written_to_and_not_replaced():
    before = os.stat("/dev/full")
    with pytest.raises(tf.errors.ResourceExhaustedError, match="/dev/full; No space left on device"):
        tf.io.write_file("/dev/full", "x" * 10_000)
    assert os.stat("/dev/full").st_rdev == before.st_rdev
