"""`map_fn`, `scan`, `foldl`, `foldr`: functions over the rows of tensors, each as one op."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from gradtape._src.control.bounded_scan import record_scan
from gradtape._src.control.composite_rows import CompositeParts, outline
from gradtape._src.control.loop import check_same, stopped, trace_body
from gradtape._src.control.ragged_rows import has_ragged_rows, map_rows
from gradtape._src.control.scope import Scope, trace
from gradtape._src.core.base.errors import LOOKS_AT_VALUES, invalid
from gradtape._src.core.base.public import public
from gradtape._src.core.engine import engine
from gradtape._src.core.programs.program import Node, leaf
from gradtape._src.core.tensors import nest
from gradtape._src.core.tensors.convert import is_tensor, tensor
from gradtape._src.core.tensors.indexed_slices import dense
from gradtape._src.core.tensors.scopes import executing_eagerly
from gradtape._src.core.tensors.tensor import Tensor, extents_of, handle
from gradtape._src.core.values import dtypes
from gradtape._src.core.values.aval import row_of
from gradtape._src.core.values.dim import is_unknown
from gradtape._src.ops.array.creation import number_of_rows
from gradtape._src.ops.array.joining import concat, stack
from gradtape._src.ops.array.shape import zeros


class MappedRows:
    """A nest of tensors that have the same number of rows."""

    def __init__(self, elems: Any, what: str) -> None:
        self.parts = CompositeParts(elems)
        if not self.parts.leaves:
            raise ValueError(f"{what}: elems must be a Tensor or a nest of Tensors, received {elems!r}.")
        self.tensors = [tensor(x) for x in self.parts.leaves]
        for x in self.tensors:
            if x.node.aval.ranked and not x.ndim:
                raise ValueError(f"{what}: elements in elems must be 1+ dimensional Tensors, not scalars; received {x!r}.")
        numbers = list(map(number_of_rows, self.tensors))
        every = {count for count, _ in numbers}
        # In a graph, a known number stands for the unknown ones.
        counts = sorted({n for n in every if not is_unknown(n)}) or [*every][:1]
        if len(counts) > 1:
            raise ValueError(f"{what}: elems have different numbers of rows: {counts}. They are taken row by row together.")
        self.count = counts[0]
        self.number = next((number.node for _, number in numbers if number is not None), None)
        self.nodes = [x.node for x in self.tensors]
        self.avals = [row_of(n.aval) for n in self.nodes]

    def pack(self, nodes: Sequence[Node]) -> Any:
        """Pack the nodes of one row into the structure of the elems."""
        return self.parts.row([handle(n) for n in nodes])

    def row(self, index: int) -> Any:
        """Return row `index`."""
        return self.parts.row([x[index] for x in self.tensors])


def record_rows(
    function: Callable[[list[Node], list[Node]], Sequence[Tensor]],
    carry: Sequence[Node],
    rows: MappedRows,
    reverse: bool = False,
) -> tuple[list[Node], list[Node]]:
    """Record `function(carry, row)` → carry and ys over all rows, and return `(last carry, stacked ys)`."""
    loop = trace_body(function, carry, rows.avals)
    consts, (step,) = loop.bind()
    start = [*carry, *[v.read() for v in loop.carried]]
    numbers = [engine.counting(rows.count, rows.nodes)] if loop.counted else []
    nodes = record_scan(step, consts, start, [*rows.nodes, *numbers], rows.count, reverse=reverse, number=rows.number)
    for variable, node in zip(loop.carried, nodes[len(carry) :], strict=False):
        variable._hold(node)
    return nodes[: len(carry)], nodes[len(start) : len(step.outputs)]


def carry_rows(step: Callable[[Any, Any], tuple[Any, Any]], start: Any, elems: Any, reverse: bool = False) -> tuple[Any, Any]:
    """Return `(last carry, stacked ys)` of `carry, y = step(carry, row)` over the rows of `elems`.

    The carry, the ys and `elems` may be nests of tensors.
    """
    return _carried(step, start, MappedRows(elems, "scan"), reverse)


def _carried(step: Callable[[Any, Any], tuple[Any, Any]], start: Any, rows: MappedRows, reverse: bool) -> tuple[Any, Any]:
    state, spec = _flat(start)
    specs: list[Any] = []

    def one(carry: list[Node], nodes: list[Node]) -> list[Tensor]:
        after, y = step(nest.unflatten(spec, [handle(n) for n in carry]), rows.pack(nodes))
        carried, results = _flat(after)[0], _flat(y)
        check_same(carry, carried)
        specs.append(results[1])
        return [*carried, *results[0]]

    last, ys = record_rows(one, [s.node for s in state], rows, reverse)
    return nest.unflatten(spec, [handle(n) for n in last]), nest.unflatten(specs[-1], [handle(y) for y in ys])


def _flat(results: Any) -> tuple[list[Tensor], Any]:
    leaves, spec = nest.flatten_with_spec(results, nest.EXPANDED)
    return [tensor(x) for x in leaves], spec


def _needs_values(error: BaseException) -> bool:
    return isinstance(error, LOOKS_AT_VALUES) and engine.local.trace.scope is None


@public
def map_fn(
    fn: Any,
    elems: Any,
    dtype: Any = None,
    parallel_iterations: int | None = None,
    back_prop: bool = True,
    swap_memory: bool = False,
    infer_shape: bool = True,
    name: str | None = None,
    fn_output_signature: Any = None,
) -> Any:
    """Apply `fn` to each row of `elems` (a tensor or a nest of them) and stack the results: shape [rows, …].

    The results may be a nest; `fn_output_signature` (or `dtype`) states their dtypes if they differ from those of `elems`. `fn`
    is traced once and runs as one loop. If it depends on values, or rows are sparse or ragged, eager code runs it row by row. In
    a function there is no gradient with `back_prop=False`.

    >>> tf.map_fn(lambda x: x * x, tf.constant([1.0, 2.0])).numpy().tolist()
    [1.0, 4.0]
    """
    if not callable(fn):
        raise TypeError(f"The provided function {fn!r} is not callable. fn must be callable.")
    if engine.local.trace.scope is not None:
        from gradtape._src.control import autograph  # imports malt, which is slow

        fn = fn if autograph.switched_off() else autograph.converted(fn)
    signature = fn_output_signature if fn_output_signature is not None else dtype
    if has_ragged_rows(elems, signature):
        return map_rows(fn, elems, signature)
    rows = MappedRows(elems, "map_fn")
    kept: list[CompositeParts] = []
    signature = None if signature is None else outline(signature)
    wanted = outline(elems) if signature is None else signature

    def applied(row: Any) -> list[Tensor]:
        returned = fn(row)
        nest.assert_same_structure(wanted, outline(returned), expand_composites=True)
        kept.append(CompositeParts(returned))
        leaves = kept[-1].leaves
        stated = _wanted(leaves, signature, rows)
        return [tensor(x, None if is_tensor(x) else dtype) for x, dtype in zip(leaves, stated, strict=True)]

    def one(_: Any, nodes: list[Node]) -> list[Tensor]:
        results = applied(rows.pack(nodes))
        _check_signature(results, signature, rows)
        return results

    if rows.count == 0 and executing_eagerly():
        return _no_rows(one, rows, kept)
    try:
        _, ys = record_rows(one, (), rows)
    except BaseException as error:
        if not _needs_values(error):
            raise
        columns = [applied(rows.row(i)) for i in range(rows.count)]
        for first, other in [pair for column in columns[1:] for pair in zip(columns[0], column, strict=True)]:
            if infer_shape and first.shape != other.shape:
                raise ValueError(f"Incompatible shape for value ({other.shape}), expected ({first.shape})") from None
        return kept[-1].batch([stack(list(column)) for column in zip(*columns, strict=True)], rows.count)
    results = kept[-1].batch([handle(y) for y in ys], rows.count)
    return results if back_prop else stopped(results)


def _no_rows(one: Any, rows: MappedRows, kept: list[CompositeParts]) -> Any:
    """Return the results for zero rows, with shapes from a trace of `fn`."""
    parameters = [leaf(a, None) for a in rows.avals]
    body = trace(lambda: one((), parameters), parameters, Scope(nested=True))
    outputs = body.avals[: len(body.avals) - len(body.written)]
    return kept[-1].batch([zeros((0, *a.shape), a.type) for a in outputs], 0)


def _wanted(results: Sequence[Any], signature: Any, rows: MappedRows) -> list[Any]:
    """Return the dtypes of results: those of `elems`, unless a signature states others."""
    if signature is None:
        same = len(rows.tensors) == len(results)
        return [x.dtype for x in rows.tensors] if same else [rows.tensors[0].dtype] * len(results)
    wanted = [dtypes.stated(s) for s in nest.flatten(signature)]
    if len(wanted) != len(results):
        raise ValueError(
            f"The two structures don't have the same number of elements: fn returned {len(results)}, fn_output_signature has "
            f"{len(wanted)}."
        )
    return wanted


def _check_signature(results: Sequence[Tensor], signature: Any, rows: MappedRows) -> None:
    """Check TensorFlow's rule that results have the dtypes of `elems`, unless a signature states others."""
    for result, dtype in zip(results, _wanted(results, signature, rows), strict=True):
        if result.dtype != dtype:
            raise invalid(
                f"TensorArray dtype is {dtype.name} but Op is trying to write dtype {result.dtype.name}, which fn returned. Give "
                f"fn_output_signature=tf.{result.dtype.name}."
            )


def _accumulate(fn: Any, elems: Any, initializer: Any, what: str, reverse: bool, every: bool, back_prop: bool) -> Any:
    if not callable(fn):
        raise TypeError(f"{fn.__class__.__name__} is not callable. Please provide a callable function.")
    rows = MappedRows(nest.map_structure(dense, elems), what)
    if initializer is None:
        if not rows.count:
            raise ValueError(f"{what}: elems have no rows, and there is no initializer.")
        start = first = rows.row(-1 if reverse else 0)
        rows = MappedRows(nest.map_structure(lambda x: x[:-1] if reverse else x[1:], rows.parts.same(rows.tensors)), what)
    else:
        start = nest.map_structure(tensor, initializer, expand_composites=True)
        first = None
    state, spec = _flat(start)
    eager = executing_eagerly()

    def step(carry: Any, row: Any) -> tuple[Any, Any]:
        results = fn(carry, row)
        nest.assert_same_structure(start, results, expand_composites=True)
        after = [tensor(r, None if hasattr(r, "dtype") else s.dtype) for r, s in zip(_leaves(results), state, strict=True)]
        if eager and not every and any(r.shape != s.shape for r, s in zip(after, state, strict=True)):
            raise engine.NeedsValues(f"the state of {what} changes its shape")
        return after, after if every else ()

    if rows.count or not eager:
        try:
            last, ys = _carried(step, start, rows, reverse)
        except BaseException as error:
            if not _needs_values(error):
                raise
            last, ys = _in_python(fn, rows, start, reverse, every)
    else:
        last, ys = start, [zeros((0, *extents_of(s)), s.dtype) for s in state]
    if every and first is not None:  # without an initializer, the first row is the first result
        ys = [concat([y, f[None]] if reverse else [f[None], y], 0) for f, y in zip(_leaves(first), ys, strict=True)]
    results = nest.unflatten(spec, ys if every else _leaves(last))
    return results if back_prop else stopped(results)


def _leaves(structure: Any) -> list[Any]:
    return nest.flatten(structure, expand_composites=True)


def _in_python(fn: Any, rows: MappedRows, start: Any, reverse: bool, every: bool) -> tuple[Any, list[Tensor]]:
    state, results = start, []
    for i in reversed(range(rows.count)) if reverse else range(rows.count):
        state = nest.map_structure(tensor, fn(state, rows.row(i)))
        results.append(_leaves(state))
    if reverse:
        results.reverse()
    return state, [stack(list(column)) for column in zip(*results, strict=True)] if every else []


@public
def scan(
    fn: Any,
    elems: Any,
    initializer: Any = None,
    parallel_iterations: int = 10,
    back_prop: bool = True,
    swap_memory: bool = False,
    infer_shape: bool = True,
    reverse: bool = False,
    name: str | None = None,
) -> Any:
    """Return the results of `state = fn(state, row)` for all rows of `elems`, stacked to shape [rows, …].

    The first state is `initializer`, or else the first row, which is then also the first result.

    >>> tf.scan(lambda total, x: total + x, tf.constant([1.0, 2.0, 3.0])).numpy().tolist()
    [1.0, 3.0, 6.0]
    """
    return _accumulate(fn, elems, initializer, "scan", reverse, True, back_prop)


@public
def foldl(
    fn: Any,
    elems: Any,
    initializer: Any = None,
    parallel_iterations: int = 10,
    back_prop: bool = True,
    swap_memory: bool = False,
    name: str | None = None,
) -> Any:
    """Return the last result of `state = fn(state, row)` over the rows of `elems`, first to last.

    >>> float(tf.foldl(lambda total, x: total + x, tf.constant([1.0, 2.0, 3.0])))
    6.0
    """
    return _accumulate(fn, elems, initializer, "foldl", False, False, back_prop)


@public
def foldr(
    fn: Any,
    elems: Any,
    initializer: Any = None,
    parallel_iterations: int = 10,
    back_prop: bool = True,
    swap_memory: bool = False,
    name: str | None = None,
) -> Any:
    """Return the last result of `state = fn(state, row)` over the rows of `elems`, last to first.

    >>> float(tf.foldr(lambda total, x: x - total, tf.constant([1.0, 2.0, 3.0])))
    2.0
    """
    return _accumulate(fn, elems, initializer, "foldr", True, False, back_prop)
