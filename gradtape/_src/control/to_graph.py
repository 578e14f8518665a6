"""`tf.autograph.to_graph` and `to_code`: the source transformation of `tf.function`, for a single function."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

from gradtape._src.core.base.public import public


@public
def to_graph(entity: Any, recursive: bool = True, experimental_optional_features: Any = None) -> Callable[..., Any]:
    """Return `entity` with its `if`, `while` and `for` over tensors as ops, for use in a graph or in eager code.

    `tf.function` does the same with its function. The functions that `entity` calls are transformed, too.
    `experimental_optional_features` has no effect.

    Raises:
      ValueError: unless `entity` is a Python function or method, and for `recursive=False`.

    Example:
      >>> import gradtape as tf
      >>> def size(x):
      ...     if x < 0:
      ...         x = -x
      ...     return x
      >>> graph = tf.autograph.to_graph(size)
      >>> tf.function(graph, autograph=False)(tf.constant(-2.0)).numpy().item()
      2.0
    """
    if not hasattr(entity, "__code__"):
        raise ValueError(
            f"Cannot apply autograph to a function that doesn't expose a __code__ object: {entity!r}. If this is a @tf.function, "
            "pass its .python_function instead."
        )
    if not recursive:
        raise ValueError("recursive must be True, received False: what a function calls is transformed with it.")
    from gradtape._src.control.autograph import converted  # imports malt, which is slow

    return converted(entity)


def _plain_function(entity: Any) -> Any:
    """Return the plain function of a function or method; ValueError without source."""
    function = getattr(entity, "__func__", entity)
    if not inspect.isfunction(function):
        raise ValueError(
            f"converting {entity!r}: Cannot apply autograph to a function that doesn't expose a __code__ object. "
            "If this is a @tf.function, try passing f.python_function instead."
        )
    return function


@public
def to_code(entity: Any, recursive: bool = True, experimental_optional_features: Any = None) -> str:
    """Return the transformed source of a Python function or method as text, to see what `to_graph` generates.

    `experimental_optional_features` selects the features to show, by default none, as in TensorFlow; `tf.function` uses all.
    ValueError for an object that is not a Python function, OSError if its source cannot be read.

    >>> def sign(x):
    ...     return 1.0 if x > 0 else -1.0
    >>> print(tf.autograph.to_code(sign).splitlines()[0])
    def tf__sign(x):
    """
    from gradtape._src.control.autograph import source_of  # imports malt, which is slow

    asked = experimental_optional_features
    features = () if asked is None else asked if isinstance(asked, (list, tuple, set, frozenset)) else (asked,)
    return source_of(_plain_function(entity), [feature.name for feature in features])
