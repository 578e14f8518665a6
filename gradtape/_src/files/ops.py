"""Ops on files and on encoded bytes: they run on the host, on NumPy arrays, and the shapes that they give depend on values."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np

from gradtape._src.core import dtypes, engine
from gradtape._src.core.convert import tensor
from gradtape._src.core.errors import InvalidArgumentError, OpError
from gradtape._src.core.op import Op, define
from gradtape._src.core.tensor import EagerTensor, Tensor, to_numpy

REASON = "it reads or makes bytes, and those are no numbers that could be varied"


def host_op(type: str, *, effect: bool = False) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Declare an op by its kernel, a function of NumPy arrays and of attributes, and return the function of tensors."""

    def decorate(kernel: Callable[..., Any]) -> Callable[..., Any]:
        made = define(Op(type, kernel, host=kernel, effect=effect))
        made.reason = REASON

        @functools.wraps(kernel)
        def call(*inputs: Tensor, **attributes: Any) -> Any:
            if engine.local.trace.scope is not None:
                raise engine.NeedsValues(f"the shape of what {type} gives depends on values")
            try:
                result = kernel(*[to_numpy(x.node) for x in inputs], **attributes)
            except OpError as error:
                error.message = f"{error.message} [Op:{type}]"
                raise
            if isinstance(result, tuple):
                return tuple([_tensor(array) for array in result])
            return None if result is None else _tensor(result)

        return call

    return decorate


def _tensor(array: Any) -> Tensor:
    return EagerTensor(engine.constant(array if isinstance(array, np.ndarray) else np.asarray(array)))


def strings(value: Any) -> Tensor:
    """Return a value as a tensor of strings; TypeError for one of another dtype."""
    x: Tensor = tensor(value, dtypes.string)
    if x.dtype != dtypes.string:
        raise TypeError(f"Expected a tensor of dtype string, received {x.dtype.name}.")
    return x


def of_bytes(values: Any, shape: tuple[int, ...]) -> np.ndarray:
    """Return a list of bytes as an array of strings."""
    array = np.empty(len(values), object)
    array[:] = values
    return array.reshape(shape)


def single(array: np.ndarray, what: str) -> bytes:
    """Return the only string of an array; InvalidArgumentError if it is no scalar."""
    if array.ndim:
        raise InvalidArgumentError(None, None, f"{what} must be scalar but got shape{_shape(array)}")
    return bytes(array[()])


def _shape(array: np.ndarray) -> str:
    return f"[{','.join(map(str, array.shape))}]"
