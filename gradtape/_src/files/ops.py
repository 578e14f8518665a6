"""Ops on files and on encoded bytes: they run on the host, on NumPy arrays, and the shapes that they give depend on values."""

from __future__ import annotations

import contextlib
import functools
import threading
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from gradtape._src.core import dtypes, engine
from gradtape._src.core.aval import aval
from gradtape._src.core.constants import to_array
from gradtape._src.core.convert import is_tensor, tensor
from gradtape._src.core.errors import InvalidArgumentError, OpError, UnimplementedError
from gradtape._src.core.op import Op, define
from gradtape._src.core.program import leaf
from gradtape._src.core.tensor import EagerTensor, Tensor, to_numpy

Known = tuple[Sequence[int | None], Any]  # a shape and a dtype
Rule = Callable[..., list[Known]]
REASON = "it reads or makes bytes, and those are no numbers that could be varied"


class _Assumed(threading.local):
    """The extent that stands for one that is not known, while the shapes of results are asked for without values."""

    extent: int | None = None
    trace: Any = None  # the one that asks; a function that is traced in it is not asked, as it would keep what it was told
    used = False


assumed = _Assumed()


@contextlib.contextmanager
def assuming(extent: int) -> Iterator[None]:
    """Let ops give tensors without values here, of the shapes that their results have; `assumed.used` says whether one did."""
    before = assumed.extent, assumed.trace
    assumed.extent, assumed.trace = extent, engine.local.trace
    try:
        yield
    finally:
        assumed.extent, assumed.trace = before


def without_values(type: str, *specs: Known) -> list[Tensor]:
    """Return tensors without values for what an op gives that was called in a function: `(shape, dtype)` of each result.

    NeedsValues unless somebody asks for shapes only: the function around it runs as eager code.
    """
    if engine.graph_around() is not None:
        raise UnimplementedError(
            None,
            None,
            f"{type} runs when it is called, and is no op of a graph of TensorFlow 1. Call it in the function of a "
            "tf.data.Dataset, or in eager code, and feed what it gives.",
        )
    if assumed.extent is None or assumed.trace is not engine.local.trace or not specs:
        raise engine.NeedsValues(f"the shape of what {type} gives depends on values")
    assumed.used = True
    avals = [aval([assumed.extent if n is None else n for n in shape], dtypes.as_dtype(dtype).numpy) for shape, dtype in specs]
    return [EagerTensor(leaf(known, None)) for known in avals]


def host_op(type: str, *, effect: bool = False, gives: Rule | None = None) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Declare an op by its kernel, a function of NumPy arrays and of attributes, and return the function of tensors.

    `gives(*inputs, **attributes)` tells the shape, with None for what is not known, and dtype of each result.
    """

    def decorate(kernel: Callable[..., Any]) -> Callable[..., Any]:
        made = define(Op(type, kernel, host=kernel, effect=effect))
        made.reason = REASON

        @functools.wraps(kernel)
        def call(*inputs: Tensor, **attributes: Any) -> Any:
            if engine.local.trace.scope is not None:
                known = [] if gives is None else gives(*inputs, **attributes)
                results = without_values(type, *known)
                return results[0] if len(known) == 1 else tuple(results)
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


def string_array(value: Any) -> np.ndarray:
    """Return the strings of a dataset's argument, also where a graph is built; TypeError for a value of another dtype."""
    if not is_tensor(value):
        return np.asarray(to_array(value))
    node = value.node
    if node.value is None and engine.local.trace.scope is not None:
        raise engine.NeedsValues("the names of files are not known before the graph or function runs")
    return to_numpy(node) if node.value is None else np.asarray(node.value)


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


def same_shape(x: Tensor, *_: Any, **__: Any) -> list[Known]:
    """The rule of an op that gives strings for strings."""
    return [(x.node.aval.shape, dtypes.string)]


def a_string(*_: Any, **__: Any) -> list[Known]:
    """The rule of an op that gives one string."""
    return [((), dtypes.string)]
