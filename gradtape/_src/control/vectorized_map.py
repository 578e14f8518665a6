"""`vectorized_map`: a function of all rows at once, or of one row after the other if it cannot be vectorised."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from gradtape._src.autodiff.vectorized import call_vectorized
from gradtape._src.control.built import built
from gradtape._src.control.composite_rows import CompositeParts
from gradtape._src.control.mapping import MappedRows, record_rows
from gradtape._src.control.scope import Scope, Traced, trace
from gradtape._src.core.base.public import public
from gradtape._src.core.engine import engine
from gradtape._src.core.programs.program import Node, leaf
from gradtape._src.core.tensors import nest
from gradtape._src.core.tensors.convert import tensor
from gradtape._src.core.tensors.indexed_slices import IndexedSlices, dense
from gradtape._src.core.tensors.tensor import Tensor, extents_of, handle
from gradtape._src.core.values.aval import aval, row_of
from gradtape._src.core.values.dim import is_unknown
from gradtape._src.ops.array.creation import number_of_rows, range_
from gradtape._src.ops.array.extents import shape
from gradtape._src.ops.array.joining import concat, stack
from gradtape._src.ops.array.shape import broadcast_to, reshape
from gradtape._src.ops.math.reduction import reduce_max
from gradtape._src.ops.random.seeds import of_trip
from gradtape._src.ops.sparse.tensor import SparseTensor


@public
def vectorized_map(fn: Any, elems: Any, fallback_to_while_loop: bool = True, warn: bool = True) -> Any:
    """Apply `fn` to all rows at once: like `map_fn`, but `fn` is traced once and vectorised.

    Tensors with only one row are shared by all rows.

    A function with effects (prints, asserts, Python functions) runs in a loop over the rows. If it needs values for its shapes,
    eager code runs it row by row; without `fallback_to_while_loop` that is a ValueError. IndexedSlices returned by `fn` become
    dense, sparse tensors get one more axis.

    >>> tf.vectorized_map(lambda x: x * x, tf.constant([1.0, 2.0])).numpy().tolist()
    [1.0, 4.0]
    """
    call = CallOfRows(fn, elems)
    if call.has_no_rank:
        return call.in_a_loop()
    try:
        body = call.traced()
    except engine.NeedsValues as reason:
        if not fallback_to_while_loop:
            raise _no_vectorization(str(reason)) from None
        if engine.local.trace.scope is not None:
            raise
        return call.row_by_row()
    if body.program.hosted:
        if not fallback_to_while_loop:
            raise _no_vectorization("fn has effects, or strings.")
        return call.in_a_loop()
    if body.draws and is_unknown(call.count):  # each row draws its own numbers
        return call.in_a_loop()
    return call.at_once(body)


def _no_vectorization(why: str) -> ValueError:
    return ValueError(f"No pfor vectorization defined for what fn does: {why} Give fallback_to_while_loop=True.")


class Returned:
    """The result of `fn` for one row as flat `tensors`: three for a SparseTensor, a dense one for IndexedSlices."""

    def __init__(self, value: Any) -> None:
        self._parts = CompositeParts(value, SparseTensor, IndexedSlices)
        self.tensors: list[Tensor] = []
        for x in self._parts.leaves:
            if isinstance(x, SparseTensor):
                self.tensors += [x.indices, x.values, x.dense_shape]
            elif x is not None:
                self.tensors.append(x.to_dense() if isinstance(x, IndexedSlices) else tensor(x))

    def stacked(self, tensors: Sequence[Tensor], count: int) -> Any:
        """Return the result for all rows, from its stacked `tensors`."""
        given = iter(tensors)
        found: list[Any] = []
        for x in self._parts.leaves:
            if isinstance(x, SparseTensor):
                found.append(_stacked_sparse(next(given), next(given), next(given), count))
            else:
                found.append(None if x is None else next(given))
        return self._parts.batch(found, count)


def _stacked_sparse(indices: Tensor, values: Tensor, shapes: Tensor, count: int) -> SparseTensor:
    _, entries, rank = indices.node.aval.shape
    numbers = broadcast_to(reshape(range_(count, dtype="int64"), (count, 1, 1)), (count, entries, 1))
    places = reshape(concat([numbers, indices], 2), (count * entries, rank + 1))
    extents = concat([tensor([count], "int64"), reduce_max(shapes, 0)], 0)
    return SparseTensor(places, reshape(values, (count * entries,)), extents)


def _of_one_count(tensors: Sequence[Tensor]) -> list[Tensor]:
    """Broadcast tensors to the largest number of rows, if it is unknown which of them have one row only."""
    shapes = [shape(x) for x in tensors]
    count = reduce_max(stack([s[0] for s in shapes]), keepdims=True)
    return [broadcast_to(x, concat([count, s[1:]], 0)) for x, s in zip(tensors, shapes, strict=True)]


class CallOfRows:
    """One call: the function, the rows, and which tensors have a single row that is shared."""

    def __init__(self, fn: Any, elems: Any) -> None:
        self._fn = fn
        self._parts = CompositeParts(nest.map_structure(dense, elems))
        self._tensors = [tensor(x) for x in self._parts.leaves]
        for x in self._tensors:
            if x.node.aval.ranked and not x.ndim:
                raise ValueError(f"elems must be 1+ dimensional Tensors, not scalars; received {x!r}.")
        self.has_no_rank = any(not x.node.aval.ranked for x in self._tensors)
        if self.has_no_rank:
            (self.count, _), self._shared = number_of_rows(self._tensors[0]), [False] * len(self._tensors)
            return
        if len(self._tensors) > 1 and any(is_unknown(x.node.aval.shape[0]) for x in self._tensors):
            self._tensors = _of_one_count(self._tensors)
        self.count = count = max(extents_of(x)[0] for x in self._tensors)
        if any(extents_of(x)[0] not in (count, 1) for x in self._tensors):
            raise ValueError(f"elems have different numbers of rows: {sorted({extents_of(x)[0] for x in self._tensors})}.")
        self._shared = [extents_of(x)[0] != count for x in self._tensors]

    def _apply(self, nodes: Sequence[Node]) -> Returned:
        self._returned = Returned(self._fn(self._parts.row([handle(n) for n in nodes])))
        return self._returned

    def _inputs(self) -> list[Node]:
        return [(x[0] if s else x).node for x, s in zip(self._tensors, self._shared, strict=True)]

    def traced(self) -> Traced:
        """Trace the function on one row."""
        inputs = zip(self._inputs(), self._shared, strict=True)
        of_row = [n.aval if s else row_of(n.aval) for n, s in inputs]
        for creates in (True, False):  # like a `tf.function`, it may create variables in its first trace
            parameters = [leaf(a, None) for a in of_row]
            scope = Scope(nested=True, creates=creates)
            body = trace(lambda given=parameters: self._apply(given).tensors, parameters, scope)  # type: ignore[misc]
            if not body.created:
                break
        if body.written:
            raise ValueError("vectorized_map: fn assigns variables, and its rows run at the same time. Use tf.map_fn.")
        return body

    def at_once(self, body: Traced) -> Any:
        """Run all rows in one vectorised call; each row draws its own random numbers."""
        nodes = list(body.inputs(self._inputs()))
        mapped = [not s for s in self._shared] + [False] * (len(nodes) - len(self._shared))
        for k in range(len(nodes) - len(body.draws), len(nodes)):
            nodes[k], mapped[k] = self._seeds(nodes[k]), True
        if not any(mapped):
            nodes[0], mapped[0] = stack([handle(nodes[0])] * self.count).node, True
        results = body.structure.pack(call_vectorized(body.program, nodes, mapped))
        return self._returned.stacked(results, self.count)

    def _seeds(self, seed: Node) -> Node:
        numbers = engine.counting(self.count)
        program = built(lambda *state: [of_trip(*state)], [seed.aval, aval((), numbers.aval.dtype)])
        (seeds,) = call_vectorized(program, [seed, numbers], [False, True])
        return seeds

    def in_a_loop(self) -> Any:
        """Run all rows in one loop op."""
        shared = self._inputs()
        rows = MappedRows([x for x, s in zip(self._tensors, self._shared, strict=True) if not s], "vectorized_map")

        def one(_: Any, row: list[Node]) -> list[Tensor]:
            given = iter(row)
            return self._apply([n if s else next(given) for n, s in zip(shared, self._shared, strict=True)]).tensors

        _, ys = record_rows(one, (), rows)
        return self._returned.stacked([handle(y) for y in ys], self.count)

    def row_by_row(self) -> Any:
        """Run the rows one after the other in eager code."""
        rows = [
            self._apply([x[0 if s else i].node for x, s in zip(self._tensors, self._shared, strict=True)]).tensors
            for i in range(self.count)
        ]
        return self._returned.stacked([stack(list(column)) for column in zip(*rows, strict=True)], self.count)
