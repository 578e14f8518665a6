"""A pytest plugin that lets a library's tests, which import TensorFlow, run on gradtape: `pytest -p gradtape.pytest`."""

from gradtape._src.compat.door.pytest_plugin import pytest_load_initial_conftests as pytest_load_initial_conftests
