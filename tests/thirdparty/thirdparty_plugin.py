"""The pytest plugin of these runs: it picks the tests, and writes down how each ended. Libraries have a package `tests`, too."""

import json
import os
import sys
import tempfile
from pathlib import Path

import pytest

ENDED = "THIRDPARTY_ENDED"  # the file that outcomes are written to
EVERY = "THIRDPARTY_EVERY"  # JSON: of the tests of a file, only every n-th

os.environ["TEST_TMPDIR"] = tempfile.mkdtemp()  # absl's directory, of which each of the processes needs its own

os.environ["EINOPS_TEST_BACKENDS"] = "numpy,tensorflow"  # einops tests those that it names
os.environ.update(dict.fromkeys(("POT_BACKEND_DISABLE_JAX", "POT_BACKEND_DISABLE_PYTORCH"), "1"))  # POT tests all others
os.environ["PROTOCOL_BUFFERS_PYTHON_IMPLEMENTATION"] = "python"  # TF Quant Finance's messages are of an old protoc
sys.skip_tf_privacy_import = True  # by which TensorFlow Privacy imports no estimators


@pytest.fixture
def backend():
    """What TensorNetwork's conftest.py, which its wheel lacks, gives for TensorFlow."""
    return "tensorflow"


def pytest_collection_modifyitems(config, items):
    every, seen, taken = json.loads(os.environ[EVERY]), {}, []
    for item in items:
        number = seen[item.path] = seen.get(item.path, -1) + 1
        if number % every.get(item.path.name, 1) == 0:
            taken.append(item)
    items[:] = taken


def pytest_runtest_logreport(report):
    if report.when == "call" or report.failed:
        _write({"test": report.nodeid, "outcome": report.outcome, "error": _error(report)})


def pytest_collectreport(report):
    if report.failed:
        _write({"test": report.nodeid, "outcome": "failed", "error": str(report.longrepr).strip().splitlines()[-1]})


def _error(report):
    crash = getattr(report.longrepr, "reprcrash", None)
    return crash.message.splitlines()[0] if crash is not None and crash.message else ""


def _write(line):
    # With pytest-xdist the workers' reports come to the process that started them, too.
    if "PYTEST_XDIST_WORKER" not in os.environ:
        with Path(os.environ[ENDED]).open("a") as file:
            file.write(json.dumps(line) + "\n")
