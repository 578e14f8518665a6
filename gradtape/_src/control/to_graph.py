"""`tf.autograph.to_graph`: what `tf.function` does with Python's statements, for one function by itself."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from gradtape._src.core.errors import public


@public
def to_graph(entity: Any, recursive: bool = True, experimental_optional_features: Any = None) -> Callable[..., Any]:
    """Return `entity` with its `if`, `while` and `for` over tensors as ops: usable in a graph, or in eager code.

    `tf.function` does the same to what it is given. What `entity` calls is transformed too. `experimental_optional_features`
    has no effect.

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
