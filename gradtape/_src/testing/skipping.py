"""Decorators of tests, and a function that waits for devices; without absl."""

from __future__ import annotations

import functools
import unittest
from collections.abc import Callable
from typing import Any

import jax

from gradtape._src.core.base.public import public
from gradtape._src.core.engine import engine


def disable_with_predicate(pred: Callable[[], Any], skip_message: str) -> Callable[[Any], Any]:
    """Return a decorator that skips a test method with this message, if `pred()` holds when the test runs.

    >>> class SquareTest(tf.test.TestCase):
    ...     @tf.test.disable_with_predicate(lambda: True, "it needs a TPU")
    ...     def test_square(self):
    ...         self.assertEqual(tf.square(2.0), 5.0)
    >>> SquareTest("test_square").run().skipped[0][1]
    'it needs a TPU'
    """

    def decorate(method: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(method)
        def checked(self: unittest.TestCase, *args: Any, **kwargs: Any) -> Any:
            if pred():
                self.skipTest(skip_message)
            return method(self, *args, **kwargs)

        return checked

    return decorate


def with_eager_op_as_function(cls: Any = None, only_as_function: bool = False) -> Any:
    """Return a test class unchanged, as eager ops are always part of compiled programs.

    >>> @tf.test.with_eager_op_as_function
    ... class SquareTest(tf.test.TestCase):
    ...     def test_square(self):
    ...         self.assertAllClose(tf.square([2.0, 3.0]), [4.0, 9.0])
    >>> SquareTest("test_square").run().wasSuccessful()
    True
    """
    return cls if cls is not None else lambda decorated: decorated


@public
def sync_devices() -> None:
    """Run all pending ops, and wait for the devices.

    >>> y = tf.square(tf.ones([100, 100]))  # recorded, and not run yet
    >>> tf.test.experimental.sync_devices()
    """
    engine.flush_if_outermost()
    for array in jax.live_arrays():
        array.block_until_ready()
