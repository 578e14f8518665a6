"""User-registered functions that convert objects of their own classes to tensors."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from gradtape._src.core.base.public import public
from gradtape._src.core.tensors.tensor import Stored, Tensor
from gradtape._src.core.values import dtypes

NUMBERS = (int, float, complex, bool, np.generic, np.ndarray)
LISTS = (list, tuple, str, bytes)  # built-in conversions, which come before others of priority STANDARD
STANDARD = 100


class Conversion(NamedTuple):
    """A registered conversion function; those of lower `priority` are tried first."""

    base_type: Any
    function: Callable[..., Any]
    priority: int


registered: list[Conversion] = []  # sorted by priority, then by time of registration
_by_type: dict[type, tuple[Conversion, ...]] = {}


@public
def register_tensor_conversion_function(base_type: Any, conversion_func: Callable[..., Any], priority: int = STANDARD) -> None:
    """Register a function that converts objects of `base_type`, a class or a tuple of classes, to tensors.

    `conversion_func(value, dtype=None, name=None, as_ref=False)` returns a Tensor (of `dtype`, if given) or NotImplemented.
    Functions of lower `priority` are tried first. It applies to explicit calls (`tf.convert_to_tensor`) and to operands (`tensor
    + value`, `tf.add(tensor, value)`), but not to `tf.constant`. Numbers and NumPy arrays are a TypeError.

    >>> class Length:
    ...     def __init__(self, metres):
    ...         self.metres = metres
    >>> def convert(value, dtype=None, name=None, as_ref=False):
    ...     return tf.constant(value.metres, dtype)
    >>> tf.register_tensor_conversion_function(Length, convert)
    >>> (tf.constant([1.0, 2.0]) * Length(3)).numpy()
    array([3., 6.], dtype=float32)
    """
    kinds = base_type if isinstance(base_type, tuple) else (base_type,)
    if not kinds or not all(isinstance(kind, type) for kind in kinds):
        raise TypeError(f"Argument `base_type` must be a type or a tuple of types. Obtained: {base_type}")
    if any(issubclass(kind, NUMBERS) for kind in kinds):
        raise TypeError("Cannot register conversions for Python numeric types and NumPy scalars and arrays.")
    if not callable(conversion_func):
        raise TypeError(f"Argument `conversion_func` must be callable. Received {conversion_func}.")
    registered.append(Conversion(base_type, conversion_func, priority))
    registered.sort(key=lambda conversion: conversion.priority)
    _by_type.clear()


def converted(value: Any, dtype: np.dtype | None) -> Any:
    """Convert `value` to a Tensor or Variable by the conversion functions of its class; NotImplemented if none applies."""
    if not registered or isinstance(value, NUMBERS):
        return NotImplemented
    kind = type(value)
    found = _by_type.get(kind)
    if found is None:
        before = STANDARD if issubclass(kind, LISTS) else math.inf
        found = _by_type[kind] = tuple([c for c in registered if issubclass(kind, c.base_type) and c.priority < before])
    wanted = None if dtype is None else dtypes.as_dtype(dtype)
    for conversion in found:
        result = conversion.function(value, dtype=wanted, name=None, as_ref=False)
        if result is NotImplemented:
            continue
        received = f"Conversion function {conversion.function!r} for type {conversion.base_type} returned"
        if not isinstance(result, (Tensor, Stored)):
            raise RuntimeError(f"{received} non-Tensor: {result!r}")
        if wanted is not None and result.dtype != wanted:
            raise RuntimeError(
                f"{received} incompatible dtype: requested = {wanted.name}, actual = {dtypes.as_dtype(result.dtype).name}"
            )
        return result
    return NotImplemented
