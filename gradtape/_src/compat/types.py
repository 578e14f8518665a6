"""Types for `isinstance` and annotations (`tf.types.experimental`), and `tf.compat`'s tuples of types, paths and dates."""

from __future__ import annotations

import contextlib
import datetime
import numbers
import os
from collections.abc import Iterator
from typing import Any, Protocol, runtime_checkable

import numpy as np

from gradtape._src.control.concrete import ConcreteFunction
from gradtape._src.control.function import Function
from gradtape._src.core.base.public import public
from gradtape._src.core.declarations.spec import TraceType as TraceType
from gradtape._src.core.tensors.tensor import Stored, Tensor

# Values convertible to a tensor, for annotations and isinstance.
TensorLike = Tensor | Stored | int | float | bool | str | bytes | complex | tuple | list | np.ndarray | np.generic

# The results of `tf.function` and of its `get_concrete_function`. TensorFlow has abstract base classes of these names.
GenericFunction = PolymorphicFunction = Function
Callable = Function | ConcreteFunction
AtomicFunction = ConcreteFunction


@runtime_checkable
class SupportsTracingProtocol(Protocol):
    """Objects that say by `__tf_tracing_type__` for which others a function's trace serves, too: for those of an equal type.

    `tf.types.experimental.TraceType` has an example. A type that is a `TypeSpec` says nothing: the object is a constant then.

    >>> class Point:
    ...     def __tf_tracing_type__(self, context):
    ...         return tf.TensorSpec([2], tf.float32)
    >>> print(isinstance(Point(), tf.types.experimental.SupportsTracingProtocol))
    True
    """

    def __tf_tracing_type__(self, context: Any) -> Any:
        """Return the type of the object, a `TraceType`."""


integral_types = (numbers.Integral, np.integer)
real_types = (numbers.Real, np.integer, np.floating)
complex_types = (numbers.Complex, np.number)
bytes_or_text_types = (bytes, str)


@public
def path_to_str(path: Any) -> Any:
    """Convert a path object to text; other values are unchanged."""
    return os.fspath(path) if hasattr(path, "__fspath__") else path


@public
def forward_compatible(year: int, month: int, day: int) -> bool:
    """Return whether programs need no compatibility with TensorFlow of that day: True, as gradtape shares no programs with it."""
    datetime.date(year, month, day)
    return True


@contextlib.contextmanager
def forward_compatibility_horizon(year: int, month: int, day: int) -> Iterator[None]:
    """Open a context without effect, as `forward_compatible` is True for any day."""
    datetime.date(year, month, day)
    yield
