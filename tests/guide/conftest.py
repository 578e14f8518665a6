import logging

import pytest


def pytest_configure(config):
    config.addinivalue_line("markers", "better: gradtape leaves TensorFlow's behaviour on purpose")


@pytest.fixture
def logged(caplog):
    """A function that returns the messages logged so far in this test, whatever their logger."""
    caplog.set_level(logging.WARNING)
    return lambda: [record.getMessage() for record in caplog.records]
