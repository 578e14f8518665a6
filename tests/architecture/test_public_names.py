"""The public names of gradtape are those of the committed snapshot, `public_names.txt`."""

import subprocess
import sys
from types import ModuleType

from tests.architecture import public_names
from tests.architecture.rules import ROOT


def test_public_names_equal_the_snapshot():
    command = [sys.executable, public_names.__file__]
    current = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert current.returncode == 0, current.stderr
    snapshot = public_names.SNAPSHOT
    committed = snapshot.read_text("utf-8").split() if snapshot.exists() else []
    changed = public_names.drift(committed, current.stdout.split())
    assert current.stdout, "gradtape has no public names"
    assert not changed, changed


def test_drift_names_what_came_and_went_and_how_to_accept_it():
    message = public_names.drift(["tf.abs", "tf.sin"], ["tf.abs", "tf.sinh"])
    assert message.splitlines()[1:] == ["  + tf.sinh", "  - tf.sin", "If that is meant: make snapshot"]
    assert public_names.drift(["tf.abs"], ["tf.abs"]) == ""


def test_names_of_public_submodules_are_walked_and_leaks_are_seen():
    package, submodule = ModuleType("tf"), ModuleType("tf.math")
    package.math, package._src, package.Tensor = submodule, ModuleType("tf._src"), int
    package.leaked, submodule.sin = ModuleType("numpy"), abs
    assert public_names.public_names(package) == ["tf.Tensor", "tf.leaked", "tf.math", "tf.math.sin"]
