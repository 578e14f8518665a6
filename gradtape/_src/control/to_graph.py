"""`tf.autograph.to_graph` and `to_code`: the transformation of Python's statements that `tf.function` makes, for one function by
itself.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

from gradtape._src.core.base.public import public


@public
def to_graph(entity: Any, recursive: bool = True, experimental_optional_features: Any = None) -> Callable[..., Any]:
    """Return `entity` with its `if`, `while` and `for` over tensors as ops: usable in a graph, or in eager code.

    `tf.function` does the same to what it is given. The functions that `entity` calls are transformed, too.
    `experimental_optional_features` has no effect.

    Raises:
      ValueError: for what is no Python function or method, and for `recursive=False`.

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
    from gradtape._src.control.autograph import converted  # loads what transforms source, at the first function only

    return converted(entity)


def _plain_function(entity: Any) -> Any:
    """Return the Python function of a function or method; ValueError for a function without a source."""
    function = getattr(entity, "__func__", entity)
    if not inspect.isfunction(function):
        raise ValueError(
            f"converting {entity!r}: Cannot apply autograph to a function that doesn't expose a __code__ object. "
            "If this is a @tf.function, try passing f.python_function instead."
        )
    return function


@public
def to_code(entity: Any, recursive: bool = True, experimental_optional_features: Any = None) -> str:
    """Return the source that a Python function or method is transformed to, as text, to read what `to_graph` made of it.

    `experimental_optional_features` are those that the text shows, as in TensorFlow none; `tf.function` uses them all.
    ValueError for what is no Python function, OSError where its source cannot be read.

    >>> def sign(x):
    ...     return 1.0 if x > 0 else -1.0
    >>> print(tf.autograph.to_code(sign).splitlines()[0])
    def tf__sign(x):
    """
    from gradtape._src.control.autograph import source_of  # loads what transforms source

    asked = experimental_optional_features
    features = () if asked is None else asked if isinstance(asked, (list, tuple, set, frozenset)) else (asked,)
    return source_of(_plain_function(entity), [feature.name for feature in features])
