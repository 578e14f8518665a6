"""JAX as Keras's tests of dtypes expect it: without 64 bits, which gradtape's kernels have in the same process.

These tests ask `jax.numpy`, which they import as they run, what dtype a result should have. During a test it is a stand-in, whose
functions run with 64 bits off; gradtape's modules hold the true one, as they are imported before.
"""

import functools
import types

import jax
import pytest

true = jax.numpy


class Narrow(types.ModuleType):
    """A module whose functions are those of another, with 64 bits off."""

    def __init__(self, module):
        super().__init__(module.__name__)
        self._module = module

    def __getattr__(self, name):
        value = getattr(self._module, name)
        if isinstance(value, types.ModuleType):
            return Narrow(value)
        return value if isinstance(value, type) or not callable(value) else _narrowed(value)


def _narrowed(function):
    @functools.wraps(function)
    def call(*args, **kwargs):
        with jax.enable_x64(False):
            return function(*args, **kwargs)

    return call


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item):
    jax.numpy = Narrow(true)
    try:
        return (yield)
    finally:
        jax.numpy = true
