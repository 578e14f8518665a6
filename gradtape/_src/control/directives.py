"""Directives of user code to autograph: leave a function as it is, options for a loop."""

from __future__ import annotations

import enum
import functools
from collections.abc import Iterable
from typing import Any

from gradtape._src.core.base.ambient import declare_foreign
from gradtape._src.core.base.public import public
from gradtape._src.core.engine import engine

declare_foreign("malt.core.ag_ctx", "stacks", "control_status")


def do_not_convert(func: Any = None) -> Any:
    """Mark a function that `tf.function` runs without transforming its `if`, `while` and `for`.

    >>> @tf.autograph.experimental.do_not_convert
    ... def first(x):
    ...     return x[0] if isinstance(x, tuple) else x
    >>> print(tf.function(lambda x: first((x, x)))(tf.constant(1.0)).numpy())
    1.0
    """
    if func is None:
        return do_not_convert

    @functools.wraps(func)
    def as_it_is(*args: Any, **kwargs: Any) -> Any:
        from malt.core import ag_ctx  # imports malt, which is slow

        with ag_ctx.ControlStatusCtx(ag_ctx.Status.DISABLED):
            return func(*args, **kwargs)

    vars(as_it_is)["autograph_info__"] = {}
    return as_it_is


@public
def set_loop_options(
    parallel_iterations: Any = None, swap_memory: Any = None, maximum_iterations: Any = None, shape_invariants: Any = None
) -> None:
    """Set options for the surrounding loop on tensors: it makes at most `maximum_iterations` trips.

    The other options are accepted, but have no effect. If a loop variable changes its shape, the function runs as eager code.

    >>> @tf.function
    ... def doubled(x):
    ...     while x < 100.0:
    ...         tf.autograph.experimental.set_loop_options(maximum_iterations=3)
    ...         x = 2.0 * x
    ...     return x
    >>> print(doubled(tf.constant(1.0)).numpy())
    8.0
    """
    if shape_invariants is not None and engine.local.trace.scope is not None:
        raise engine.NeedsValues("a loop variable changes its shape")


class Feature(enum.Enum):
    """Parts of the language for autograph to transform. gradtape always transforms all parts that it supports.

    Accepted as `experimental_autograph_options` of `tf.function`.

    >>> Feature = tf.autograph.experimental.Feature
    >>> print(len(Feature.all()), len(Feature.all_but([Feature.LISTS, Feature.NAME_SCOPES])))
    7 4
    """

    ALL = "ALL"
    AUTO_CONTROL_DEPS = "AUTO_CONTROL_DEPS"
    ASSERT_STATEMENTS = "ASSERT_STATEMENTS"
    BUILTIN_FUNCTIONS = "BUILTIN_FUNCTIONS"
    EQUALITY_OPERATORS = "EQUALITY_OPERATORS"
    LISTS = "LISTS"
    NAME_SCOPES = "NAME_SCOPES"

    @classmethod
    def all(cls) -> tuple[Feature, ...]:
        """Return all features."""
        return tuple(cls)

    @classmethod
    def all_but(cls, exclude: Feature | Iterable[Feature]) -> tuple[Feature, ...]:
        """Return all features except those in `exclude`, and except ALL."""
        left_out = {exclude} if isinstance(exclude, Feature) else set(exclude)
        return tuple([feature for feature in cls if feature is not cls.ALL and feature not in left_out])


@public
def set_verbosity(level: int, alsologtostdout: bool = False) -> None:
    """Set how much the source transformation logs, from 0 (nothing) to 10, and whether it also prints to standard output.

    >>> tf.autograph.set_verbosity(0)
    """
    from malt.utils import ag_logging

    ag_logging.set_verbosity(level, alsologtostdout)


def trace(*args: Any) -> None:
    """Print the arguments while a function is traced: once for each trace, not in each call.

    >>> @tf.function
    ... def square(x):
    ...     tf.autograph.trace("traced for", x.dtype)
    ...     return x * x
    >>> print(square(tf.constant(2.0)).numpy(), square(tf.constant(3.0)).numpy())
    traced for <dtype: 'float32'>
    4.0 9.0
    """
    print(*args)
