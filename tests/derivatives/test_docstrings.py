"""The examples in the docstrings of derivatives run, and print what they say."""

import doctest
import importlib
import pkgutil

import numpy as np
import pytest

import gradtape as tf
from gradtape._src import derivatives

MODULES = [f"{derivatives.__name__}.{module.name}" for module in pkgutil.iter_modules(derivatives.__path__)]


@pytest.mark.parametrize("name", MODULES)
def test_examples(name, count):
    failed, ran = doctest.testmod(importlib.import_module(name), extraglobs={"tf": tf, "np": np})
    assert not failed
    count("examples of docstrings run", ran)
