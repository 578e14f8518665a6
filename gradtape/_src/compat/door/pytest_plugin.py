"""The pytest plugin: `pytest -p gradtape.pytest` runs a library's tests with gradtape instead of TensorFlow."""

from typing import Any

from gradtape._src.compat.door.opening import as_tensorflow


def pytest_load_initial_conftests(early_config: Any) -> None:
    """Open the door before pytest loads a conftest.py or collects a test."""
    as_tensorflow()
