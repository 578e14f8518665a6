"""Placeholders: tensors of a graph that are fed in each run."""

from __future__ import annotations

from typing import Any

from gradtape._src.core.base.errors import InvalidArgumentError
from gradtape._src.core.base.public import public
from gradtape._src.core.engine import engine
from gradtape._src.core.programs.op import Op, define
from gradtape._src.core.tensors.convert import tensor
from gradtape._src.core.tensors.tensor import EagerTensor, Tensor, extents_of
from gradtape._src.core.values import dtypes
from gradtape._src.core.values.aval import unranked
from gradtape._src.core.values.shape import TensorShape
from gradtape._src.v1.graphs.graph import get_default_graph


def _require_graph(what: str) -> None:
    if engine.local.trace.scope is None:
        raise RuntimeError(
            f"tf.{what}() is not compatible with eager execution. Build a graph: `with tf.Graph().as_default():`, or call "
            "tf.compat.v1.disable_eager_execution() first."
        )


@public
def placeholder(dtype: Any, shape: Any = None, name: str | None = None) -> Tensor:
    """Return a tensor to be fed by a Session. `shape` may have None for extents that differ between runs.

    Without `shape` its rank is unknown, and calls that depend on it are deferred to session time.
    """
    _require_graph("placeholder")
    if engine.graph_around() is None:
        raise InvalidArgumentError(
            None,
            None,
            f"You must feed a value for placeholder tensor '{name or 'Placeholder'}', and a function has nothing that feeds it: "
            "make it an argument.",
        )
    made: Tensor = get_default_graph().placeholder(dtypes.as_dtype(dtype).numpy, TensorShape(shape), name or "Placeholder")
    return made


WITH_DEFAULT = define(
    Op("PlaceholderWithDefault", lambda input: input, infer=lambda input: input, cheap=True, gradient=lambda op, dy: dy, flops=0)
)


@public
def placeholder_with_default(input: Any, shape: Any, name: str | None = None) -> Tensor:
    """Return a tensor with the value `input`, unless a Session feeds another. In eager code and functions it is `input`."""
    value = tensor(input)
    stated = TensorShape(shape)
    if not stated.is_compatible_with(extents_of(value)):
        raise ValueError(
            f"The default value has shape {value.shape}, which is not compatible with the placeholder's shape {stated}."
        )
    node = engine.record(WITH_DEFAULT, (value.node,))
    result = EagerTensor(node)
    graph = engine.current_graph()
    if graph is not None and stated.rank is None:
        node.aval = unranked(node.aval.type)
    elif graph is not None and not stated.is_fully_defined():
        graph.open_extents(node, stated)
    return result
