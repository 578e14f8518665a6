"""The arrays of kernels: JAX's in compiled programs, NumPy's for ops that run on the host.

A kernel is written once, using `jnp` and `lax` of this module.
"""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import jax
import jax.numpy
import numpy as np

from gradtape._src.core.base.ambient import declare, field, setting
from gradtape._src.core.host import arrays, indexing
from gradtape._src.core.native import twins

if TYPE_CHECKING:
    from gradtape._src.core.programs.op import Attributes, Op
    from gradtape._src.core.values.aval import Aval


class _Fields:
    """Whether kernels in this thread compute with NumPy."""

    on_host: bool = field(False, per_replica=True)


_local = declare(_Fields)

if TYPE_CHECKING:
    import jax.numpy as jnp
    from jax import lax
else:

    class _Namespace:
        """A module of JAX's, replaced by its twin on NumPy while the thread computes on the host."""

        def __init__(self, compiled: Any, host: Any, state: Any) -> None:
            self._compiled, self._host, self._state = compiled, host, state

        def __getattr__(self, name: str) -> Any:
            return getattr(self._host if self._state.on_host else self._compiled, name)

    jnp = twins.namespace(_Namespace, jax.numpy, arrays.Numbers, _local)
    lax = twins.namespace(_Namespace, jax.lax, arrays.Primitives, _local)


def at(array: Any) -> Any:
    """Return `array.at`, JAX's interface for reading and updating elements at indices."""
    return indexing.At(array) if _local.on_host else array.at


def is_on_host() -> bool:
    """Return whether kernels in this thread compute with NumPy, where reusing common values pays."""
    return _local.on_host


def traced_once(function: Callable[..., Any]) -> Callable[..., Any]:
    """Have JAX trace a long part of kernels once for each shape, and programs contain it once; on the host it is just called."""
    traced = jax.jit(function)

    @functools.wraps(function)
    def call(*arguments: Any) -> Any:
        return function(*arguments) if _local.on_host else traced(*arguments)

    return call


def on_host() -> contextlib.AbstractContextManager[None]:
    """Open a context in which kernels compute with NumPy, in this thread."""
    return contextlib.nullcontext() if _local.on_host else _on_host()


@contextlib.contextmanager
def _on_host() -> Iterator[None]:
    with setting(on_host=True), np.errstate(all="ignore"):
        yield


def called_on_host(kernel: Callable[..., Any], inputs: Sequence[Any], attributes: Mapping[str, Any]) -> Any:
    """Return a kernel's result on NumPy arrays, without a context manager, as this is called for each indexing."""
    before, _local.on_host = _local.on_host, True
    try:
        return kernel(*inputs, **attributes)
    finally:
        _local.on_host = before


def on_device() -> setting:
    """Open a context in which kernels compute with JAX, in this thread."""
    return setting(on_host=False)


def run(op: Op, attrs: Attributes, inputs: Sequence[Any], avals: Any) -> Any:
    """Run a hosted op; return read-only NumPy arrays with these Avals."""
    if not _local.on_host:
        with _on_host():
            return run(op, attrs, inputs, avals)
    result = op.run([x if type(x) is np.ndarray and not x.flags.writeable else given(x) for x in inputs], attrs)
    return tuple(map(_frozen, result, avals)) if type(avals) is tuple else _frozen(result, avals)


def given(value: Any) -> np.ndarray:
    """Return an input as a read-only array."""
    array = np.asarray(value)
    if array.flags.writeable:
        array = array.view()
        array.flags.writeable = False
    return array


def _frozen(value: Any, aval: Aval) -> np.ndarray:
    # NumPy promotes half precision with a Python number to another dtype.
    array = value if type(value) is np.ndarray and value.dtype is aval.dtype else np.asarray(value, aval.dtype)
    flags = array.flags
    if not flags.c_contiguous:
        return frozen(np.ascontiguousarray(array))
    flags.writeable = False
    return array


def frozen(array: np.ndarray) -> np.ndarray:
    """Return an array of the library's own, made read-only."""
    array.flags.writeable = False
    return array
