"""Declaration of ops on files and on encoded bytes, which run on the host, on NumPy arrays."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from gradtape._src.core.base import hooks
from gradtape._src.core.base.errors import OpError, UnimplementedError, invalid, mark
from gradtape._src.core.engine import engine
from gradtape._src.core.engine.tracing import is_asked_for_shapes
from gradtape._src.core.programs import journal
from gradtape._src.core.programs.op import Op, define
from gradtape._src.core.programs.program import leaf
from gradtape._src.core.tensors.constants import to_array
from gradtape._src.core.tensors.convert import is_tensor, tensor
from gradtape._src.core.tensors.tensor import EagerTensor, Tensor, to_numpy
from gradtape._src.core.values import dtypes
from gradtape._src.core.values.aval import Aval, aval, printed, unranked
from gradtape._src.core.values.dim import unknown

Known = tuple[Sequence[int | None] | None, Any]  # a shape and a dtype
Attributes = tuple[tuple[str, Any], ...]
Rule = Callable[..., list[Known]]
REASON = "it reads or makes bytes, and those are no numbers that could be varied"


def without_values(type: str, *specs: Known) -> list[Tensor]:
    """Return tensors without values, as results of a dataset's function while its shapes are inferred.

    `specs` are `(shape, dtype)` of each result. NeedsValues where values are needed: the function then runs as eager code.
    """
    if engine.graph_around() is not None:
        raise UnimplementedError.saying(
            f"{type} gives shapes that depend on values, and is no op of a graph of TensorFlow 1. Call it in the function of a "
            "tf.data.Dataset, or in eager code, and feed what it gives."
        )
    if not is_asked_for_shapes() or not specs or any(shape is None for shape, _ in specs):
        raise engine.NeedsValues(f"the shape of what {type} gives depends on values")
    known = [([unknown() if n is None else n for n in shape or ()], dtype) for shape, dtype in specs]
    return [EagerTensor(leaf(aval(shape, dtypes.as_dtype(dtype).numpy), None)) for shape, dtype in known]


def host_op(type: str, *, gives: Rule, effect: bool = False, **known: Any) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Declare an op by its kernel, a function of NumPy arrays and attributes, and return the function of tensors.

    `gives(*avals, **attributes)` infers the shape and dtype of each result, with None for extents, or the shape if the rank
    depends on values. An `effect` reads or writes files, so a function keeps it, in order. `known` are other arguments of
    `Op`.
    """

    def decorate(kernel: Callable[..., Any]) -> Callable[..., Any]:
        def run(*inputs: Any, attributes: Attributes) -> tuple[Any, ...]:
            try:
                result = kernel(*map(np.asarray, inputs), **dict(attributes))
            except OpError as error:
                mark(error, type)
                raise
            return result if isinstance(result, tuple) else () if result is None else (result,)

        def infer(*avals: Aval, attributes: Attributes) -> tuple[Aval, ...]:
            return tuple([_aval(*known) for known in gives(*avals, **dict(attributes))])

        running: dict[str, Any] = known | ({"effect": True, "host": run} if effect else {"on_host": True})
        made = define(Op(type, run, infer=infer, reason=REASON, **running))

        @functools.wraps(kernel)
        def call(*inputs: Tensor, **attributes: Any) -> Any:
            nodes, structure = tuple([x.node for x in inputs]), tuple(attributes.items())
            scope = engine.local.trace.scope
            if scope is None:
                for node in nodes:
                    if node.aval.type != dtypes.string:
                        journal.left(type, node, engine.local.trace)
                results = list(map(entered, run(*map(to_numpy, nodes), attributes=structure)))
            else:
                known = gives(*[node.aval for node in nodes], **attributes)
                open_ = any(shape is None or None in shape for shape, _ in known)
                if open_ and not effect and engine.graph_around() is not None:
                    again = functools.partial(call, **attributes)
                    results = hooks.graphs.stated(again, inputs, known, made, (structure,))
                elif is_asked_for_shapes() or (open_ and not getattr(scope, "shaped_by_runs", False)):
                    results = without_values(type, *known) if known else []
                elif not known:
                    node, graph = engine.record(made, nodes, (structure,)), engine.current_graph()
                    return None if graph is None else graph.operation_of(node)
                else:
                    results = [EagerTensor(n) for n in engine.elements(engine.record(made, nodes, (structure,)))]
            return results[0] if len(results) == 1 else tuple(results) or None

        return call

    return decorate


def _aval(shape: Sequence[int | None] | None, dtype: Any) -> Aval:
    known = dtypes.as_dtype(dtype)
    extents = [n for n in shape or () if n is not None]
    return unranked(known) if shape is None or len(extents) < len(shape) else aval(extents, known.numpy)


def entered(array: Any) -> Tensor:
    """Return a tensor of data that were read or parsed, and note for the explainer the line where numbers came in."""
    node = engine.constant(array if isinstance(array, np.ndarray) else np.asarray(array))
    if node.aval.type != dtypes.string:
        journal.made(node)
    return EagerTensor(node)


def strings(value: Any) -> Tensor:
    """Convert a value to a tensor of strings; TypeError for another dtype."""
    x: Tensor = tensor(value, dtypes.string)
    if x.dtype != dtypes.string:
        raise TypeError(f"Expected a tensor of dtype string, received {x.dtype.name}.")
    return x


def string_array(value: Any) -> np.ndarray:
    """Convert a dataset's argument to an array of strings, also while a graph is built; TypeError for another dtype."""
    if not is_tensor(value):
        return np.asarray(to_array(value))
    node = value.node
    if node.value is None and engine.local.trace.scope is not None:
        raise engine.NeedsValues("the names of files are not known before the graph or function runs")
    return to_numpy(node) if node.value is None else np.asarray(node.value)


def of_bytes(values: Any, shape: tuple[int, ...]) -> np.ndarray:
    """Convert a list of bytes to an array of strings."""
    array = np.empty(len(values), object)
    array[:] = values
    return array.reshape(shape)


def padded(rows: Sequence[np.ndarray], extents: Sequence[int | None], fill: Any, dtype: np.dtype) -> np.ndarray:
    """Stack arrays, each padded at its ends to these extents; None is the largest extent of all."""
    largest = [max([row.shape[a] for row in rows], default=0) if e is None else e for a, e in enumerate(extents)]
    result = np.full([len(rows), *largest], fill, dtype)
    for number, row in enumerate(rows):
        place: list[Any] = [number, *map(slice, row.shape)]
        result[tuple(place)] = row
    return result


def single(array: np.ndarray, what: str) -> bytes:
    """Return the only string of an array; InvalidArgumentError if it is no scalar."""
    if array.ndim:
        raise invalid(f"{what} must be scalar but got shape{printed(array.shape)}")
    return bytes(array[()])


def same_shape(x: Aval, *_: Any, **__: Any) -> list[Known]:
    """Infer one string for each string of the first input."""
    return [(x.shape, dtypes.string)]


def a_string(*_: Any, **__: Any) -> list[Known]:
    """Infer a scalar string."""
    return [((), dtypes.string)]
