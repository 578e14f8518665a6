"""Ops that exist only in graphs."""

from __future__ import annotations

from collections.abc import Container, Iterable, Sequence
from typing import Any

import numpy as np

from gradtape._src.core.base.errors import invalid
from gradtape._src.core.engine import engine
from gradtape._src.core.programs import function_names
from gradtape._src.core.programs.op import Op, define
from gradtape._src.core.programs.program import Node
from gradtape._src.core.tensors.indexed_slices import IndexedSlices, dense
from gradtape._src.core.values.aval import Aval, aval, unranked
from gradtape._src.core.values.dtypes import as_dtype


class IdentityAttr:
    """An array as an attribute, compared by identity."""

    __slots__ = ("array",)

    def __init__(self, array: Any) -> None:
        self.array = array


def _never(*inputs: Any, **attributes: Any) -> Any:
    raise NotImplementedError("a Session runs this op")


def _graph_op(type: str, infer: Any, attributes: str | None = None) -> Op:
    """Declare an op that a Session replaces when it runs; `attributes` are the names of its attributes."""
    return define(
        Op(type, _never, infer=infer, effect=True, attributes=attributes, flops=0, reason="it is where a graph begins or ends")
    )


def _shaped(*inputs: Aval, dtype: Any, shape: tuple[Any, ...] | None) -> Aval:
    return unranked(as_dtype(dtype)) if shape is None else aval(shape, dtype)


class MadeUp:
    """A stand-in for an op in a Sketch, which never runs; `blocked` are the inputs that get no gradient."""

    __slots__ = ("_blocked",)

    def __init__(self, blocked: Container[int]) -> None:
        self._blocked = blocked

    def gradient(self, op: Any, *grads: Any) -> list[Any]:
        """Return a value with the right shape for each input that gets a gradient."""
        return [x * 0 if x.node.aval.inexact and i not in self._blocked else None for i, x in enumerate(op.inputs)]


def _gradient_of_late(op: Any, *grads: Any) -> list[Any]:
    found: list[Any] = op.entry.node.attrs[0].array.gradient(op, *grads)
    return found


def _gradient_of_gradient(op: Any, *grads: Any) -> list[Any]:
    raise invalid("A gradient of a gradient that a graph keeps is taken by tf.gradients or tape.gradient.")


PLACEHOLDER = _graph_op(function_names.PLACEHOLDER, _shaped, "dtype shape")
HANDLE = _graph_op(function_names.VARIABLE, _shaped, "dtype shape")
CONST = define(
    Op(
        function_names.CONST, lambda *, held: held.array, infer=lambda *, held: aval(held.array.shape, held.array.dtype),
        reason="it has no inputs", flops=0,
    )
)  # fmt: skip


NOOP = _graph_op(function_names.NO_OP, lambda: ())
INITIALIZED = _graph_op("VarIsInitializedOp", lambda handle: aval((), np.dtype(bool)))
BEGINNINGS = (PLACEHOLDER, HANDLE, NOOP)
# (ys…, their cotangents…, xs…) → gradients: recorded as one op, and differentiated when the graph runs.
GRADIENT = define(
    Op(
        "SymbolicGradient",
        _never,
        infer=lambda *inputs, request: request.avals,
        effect=True,
        attributes="request",
        gradient=_gradient_of_gradient,
    )
)
# A deferred call of a public function, made when the graph runs and the inputs' shapes are known.
LATE = define(
    Op(
        "Late",
        _never,
        infer=lambda *inputs, call, avals: avals,
        attributes="call avals",
        gradient=_gradient_of_late,
        impure=True,
        takes_none=True,
        traits="own",
    )
)  # fmt: skip


def late(call: Any, inputs: Iterable[Node], avals: Sequence[Aval]) -> list[Node]:
    """Record a deferred call, and return its results."""
    known = tuple(avals)
    overrides = engine.local.trace.overrides
    op = LATE if overrides is None else overrides(LATE)
    return engine.elements(engine.record_as(op, tuple(inputs), (IdentityAttr(call), known), known))


BY_VALUES: set[Op] = set()  # the ops of a graph with results whose shapes depend on values


class Request:
    """A call of `gradients`: positions among the op's inputs, and the layout of its results.

    `layout` has for each x None, an output number, or the output numbers of values and indices of IndexedSlices.
    """

    __slots__ = ("avals", "given", "layout", "stops", "xs", "ys", "zero")
    avals: tuple[Aval, ...]
    layout: list[Any]

    def __init__(
        self, ys: Sequence[Node], given: Sequence[Node | None], xs: Sequence[Node], stops: Sequence[Node], zero: bool
    ) -> None:
        self.ys, self.given, self.xs, self.stops, self.zero = list(ys), list(given), list(xs), list(stops), zero
        self.avals, self.layout = (), []

    def flat(self, results: Sequence[Any]) -> list[Node]:
        """Return the nodes of the op's outputs for these gradients."""
        nodes: list[Node] = []
        for result, layout in zip(results, self.layout, strict=True):
            if isinstance(layout, int):
                nodes.append(dense(result).node)
            elif layout is not None and isinstance(result, IndexedSlices):
                nodes += [result.values.node, result.indices.node]
            elif layout is not None:
                nodes += [result.node, engine.constant(np.arange(result.shape[0], dtype=np.int32))]
        return nodes
