"""Calls of JAX, with 64 bits enabled in them, whatever the process has set.

JAX's 64-bit switch belongs to the process: other JAX code must keep its dtypes and random numbers. So all tracing, compiling and
copying of arrays for the library goes through this module.
"""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import jax
import jax.numpy
import numpy as np

from gradtape._src.core.platform import compile_cache


def wide() -> Any:
    """Return a context in which JAX has 64 bits enabled in this thread."""
    return jax.enable_x64(True)


@contextlib.contextmanager
def outside() -> Iterator[None]:
    """Open a context in which JAX computes at once, with 64 bits, even if user code runs inside of `jax.jit`."""
    with jax.enable_x64(True), jax.ensure_compile_time_eval():
        yield


def is_wide(value: Any) -> bool:
    """Return whether an array, an Aval or a sequence of them has 64-bit numbers, which JAX narrows outside of `wide`."""
    if isinstance(value, (tuple, list)):
        return any(map(is_wide, value))
    return value.dtype.itemsize > 4 and value.dtype.kind in "iufc"


def surely(question: Callable[..., Any], *arguments: Any, **attributes: Any) -> bool:
    """Return whether a condition on extents is true; False if an exported program's symbols leave it open."""
    try:
        return bool(question(*arguments, **attributes))
    except jax.errors.InconclusiveDimensionOperation:
        return False


def larger(one: Any, other: Any) -> Any:
    """Return the larger of two extents, which may be symbols of an exported program."""
    try:
        return max(one, other)
    except jax.errors.InconclusiveDimensionOperation:
        return jax.core.max_dim(one, other)


def is_number(extent: Any) -> bool:
    """Return whether an extent is known: a number, and not a symbol of an exported program."""
    return isinstance(extent, (int, np.integer))


def jit(function: Callable[..., Any], **options: Any) -> Callable[..., Any]:
    """Return `jax.jit` of a function, traced and called with 64 bits."""
    traced = jax.jit(function, **options)

    @functools.wraps(function)
    def call(*arguments: Any) -> Any:
        with outside():
            return traced(*arguments)

    return call


def compiled(function: Callable[..., Any], arguments: Sequence[Any], options: dict[str, Any] | None = None) -> Any:
    """Compile `function` for arrays such as `arguments`, ahead of its first call; `callable_for` calls it."""
    with wide():
        lowered = jax.jit(function, compiler_options=options).lower(*arguments)
        with compile_cache.own():
            return lowered.compile()


def callable_for(code: Callable[..., Any], arguments: Sequence[Any]) -> Callable[..., Any]:
    """Return compiled code as a function. If NumPy arrays among its arguments have 64 bits, its calls enable these in JAX."""

    def call(*arguments: Any) -> Any:
        with wide():
            return code(*arguments)

    return call if any(map(is_wide, arguments)) else code


class ByPlacement:
    """A function compiled by JAX for each placement of its arguments on devices."""

    def __init__(self, function: Callable[..., Any], options: dict[str, Any] | None = None) -> None:
        self._run = jit(function, compiler_options=options)
        self._seen: set[tuple[Any, ...]] = set()

    def __call__(self, *arguments: Any) -> Any:
        placement = tuple([getattr(a, "sharding", None) for a in arguments])
        if placement in self._seen:
            return self._run(*arguments)
        self._seen.add(placement)
        with compile_cache.own():
            return self._run(*arguments)


def shapes(function: Callable[..., Any], *specs: Any) -> Any:
    """Return the shapes and dtypes of a function's results by tracing it."""
    with wide():
        return jax.eval_shape(function, *specs)


def jaxpr(function: Callable[..., Any], *specs: Any) -> Any:
    """Return the closed jaxpr of a function of arrays."""
    with wide():
        return jax.make_jaxpr(function)(*specs)


def constant(value: np.ndarray) -> Any:
    """Return a constant for a trace. An integer scalar keeps its value there, since kernels may read a position or a size."""
    if value.ndim or value.dtype.kind not in "iu":
        return jax.numpy.asarray(value)
    with outside():
        return jax.numpy.asarray(value)


def is_known(value: Any) -> bool:
    """Return whether a kernel may read a value: a constant of the traced program, or an array on the host."""
    return not isinstance(value, jax.core.Tracer)


def put(value: Any, where: Any = None) -> jax.Array:
    """Copy an array to a device, or to JAX's default device if `where` is None, or shard it by a sharding."""
    with wide():
        copied = jax.device_put(value, where)
    if isinstance(copied, jax.core.Tracer):
        with outside():
            copied = jax.device_put(value, where)
    return copied
