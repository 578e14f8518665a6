"""What holds for all tests of datasets."""

import pytest

import gradtape as tf


@pytest.fixture(autouse=True)
def _without_a_seed():
    """Leave no global seed to the next test, whose orders would depend on which tests ran before."""
    yield
    tf.random.set_seed(None)
