"""The public names of gradtape are those of the committed snapshot, `public_names.txt`."""

import subprocess
import sys
from types import ModuleType

import pytest

from tests.architecture import public_names
from tests.architecture.rules import ROOT


def test_public_names_equal_the_snapshot():
    command = [sys.executable, public_names.__file__]
    current = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert current.returncode == 0, current.stderr
    snapshot = public_names.SNAPSHOT
    committed = snapshot.read_text("utf-8").splitlines() if snapshot.exists() else []
    changed = public_names.drift(committed, current.stdout.splitlines())
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


def test_each_name_has_its_status():
    lines = public_names.SNAPSHOT.read_text("utf-8").splitlines()
    found = dict(line.split() for line in lines)
    assert set(found.values()) == {"stable", "experimental"}
    names = "GradientTape autodiff.jvp autodiff.root data.experimental.AUTOTUNE raw_ops.Add compat.v1.Session"
    statuses = "stable stable experimental experimental stable stable"
    assert [found[f"gradtape.{name}"] for name in names.split()] == statuses.split()
    assert public_names.page(found) == public_names.PAGE.read_text("utf-8"), "make snapshot writes the tables"


def test_a_name_of_gradtapes_own_is_experimental_until_it_is_promised():
    names = [line.split()[0] for line in public_names.SNAPSHOT.read_text("utf-8").splitlines()]
    assert public_names.statuses([*names, "gradtape.autodiff.brand_new"])["gradtape.autodiff.brand_new"] == "experimental"
    with pytest.raises(LookupError, match=r"promises names that are not there: gradtape\.autodiff\.jvp$"):
        public_names.statuses([name for name in names if name != "gradtape.autodiff.jvp"])
