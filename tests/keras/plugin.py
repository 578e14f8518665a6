"""A pytest plugin for Keras's own tests on this backend: their marks, and what is left out of them (excluded.txt)."""

import sys
import types
from pathlib import Path

import pytest

from keras_gradtape import choosing, edits, hook

EXCLUDED = Path(__file__).with_name("excluded.txt")
MARKS = (
    "requires_trainable_backend: only where gradients exist, as they do here",
    "openvino_backend: about another backend",
    "multi_device: needs several devices",
)


# What the tests import from the conftest.py of Keras's repository, which is not in its wheel.
conftest = types.ModuleType("conftest")
conftest.skip_if_backend = lambda backend, reason: pytest.mark.skipif(backend == choosing.NAME, reason=reason)


def excluded() -> dict[str, str]:
    """The tests that are left out, `keras/src/file.py::Class::test` (or a beginning of it and `*`), each with its reason."""
    reasons = {}
    for line in EXCLUDED.read_text().splitlines():
        if line and not line.startswith("#"):
            name, reason = line.split("  # ")
            reasons[name.strip()] = reason
    return reasons


# Tests that choose by the backend's name, and what they need of this one.
edits.EDITS += (
    edits.Edit(
        "keras.src.trainers.trainer_test",
        edits.arm("from keras_gradtape.src.trainer import Trainer"),
        "The chain of the backends' trainers ends with an error",
        edits.LISTED,
        changes_tree=True,
        before=edits.PLUGGABLE,
    ),
)


def pytest_configure(config):
    sys.modules["conftest"] = conftest
    hook.install()
    sys.meta_path.sort(key=lambda finder: not isinstance(finder, hook.Finder))  # before pytest's own, which rewrites assertions
    for mark in MARKS:
        config.addinivalue_line("markers", mark)


def pytest_collection_modifyitems(config, items):
    for module in {item.module for item in items}:
        if hasattr(module, "TestPyDataset"):
            module.TestPyDataset.__getitem__ = _batch
    names = excluded()
    beginnings = tuple([name.removesuffix("*") for name in names if name.endswith("*")])
    left_out = [item for item in items if (name := _name(item)) in names or name.startswith(beginnings)]
    if left_out:
        dropped = set(left_out)
        config.hook.pytest_deselected(items=left_out)
        items[:] = [item for item in items if item not in dropped]


def _batch(self, index):
    """What trainer_test's dataset gives, which looks its device up in a table of the backends that it knows."""
    from keras import ops

    return ops.ones((5, 4)), ops.zeros((5, 3))


def _name(item):
    """The name of a test from `keras/` on, wherever Keras is installed."""
    return f"keras/src/{item.path.as_posix().rpartition('/keras/src/')[2]}::{item.nodeid.partition('::')[2]}"
