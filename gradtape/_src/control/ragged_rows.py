"""`map_fn` over rows of different sizes: SparseTensors and RaggedTensors, row by row."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from gradtape._src.core.base.errors import invalid
from gradtape._src.core.engine import engine
from gradtape._src.core.tensors import nest
from gradtape._src.core.tensors.convert import tensor
from gradtape._src.core.tensors.tensor import Tensor, extents_of, to_numpy
from gradtape._src.core.values import dtypes
from gradtape._src.ops.array.gather import gather
from gradtape._src.ops.array.joining import concat, stack
from gradtape._src.ops.array.ragged import RaggedTensor, RaggedTensorSpec
from gradtape._src.ops.ragged import joining
from gradtape._src.ops.sparse.tensor import SparseTensor, SparseTensorSpec


def has_ragged_rows(elems: Any, signature: Any) -> bool:
    """Return whether rows of `elems`, or of the results in `signature`, can differ in size."""
    given = (*nest.flatten(elems), *nest.flatten(signature))
    return any(isinstance(x, SparseTensor | SparseTensorSpec | RaggedTensor | RaggedTensorSpec) for x in given)


def map_rows(fn: Callable[[Any], Any], elems: Any, signature: Any) -> Any:
    """Call `fn` for each row of `elems`; return the results as rows of a dense, sparse or ragged tensor."""
    if (graph := engine.current_graph()) is not None and not graph.building_function:
        raise NotImplementedError(
            "tf.map_fn over rows of different sizes does not go into a graph of TensorFlow 1. Call it in a tf.function, or map "
            "flat_values and put them into rows by with_flat_values."
        )
    if engine.local.trace.scope is not None:
        raise engine.NeedsValues("rows of sparse and ragged tensors are of different sizes")
    leaves = nest.flatten(elems)
    columns = [_rows(x) for x in leaves]
    counts = sorted({len(column) for column in columns})
    if len(counts) > 1:
        raise ValueError(f"map_fn: elems have different numbers of rows: {counts}. They are taken row by row together.")
    results = [fn(nest.pack_sequence_as(elems, list(row))) for row in zip(*columns, strict=True)]
    wanted = elems if signature is None else signature
    if not results:
        raise invalid("map_fn: a sparse or ragged tensor without rows tells nothing about the results.")
    for result in results:
        nest.assert_same_structure(wanted, result)
    stacked = [
        _stacked(list(column), of)
        for column, of in zip(zip(*map(nest.flatten, results), strict=True), nest.flatten(wanted), strict=True)
    ]
    return nest.pack_sequence_as(results[0], stacked)


def _rows(x: Any) -> list[Any]:
    if isinstance(x, RaggedTensor):
        return [*x]
    if not isinstance(x, SparseTensor):
        given: Tensor = tensor(x)
        return [given[i] for i in range(extents_of(given)[0])]
    indices, (count, *extents) = to_numpy(x.indices.node), to_numpy(x.dense_shape.node).tolist()
    order = np.argsort(indices[:, 0], kind="stable")
    chosen = np.split(order, np.searchsorted(indices[order, 0], np.arange(1, count)))[:count]
    return [SparseTensor(indices[places, 1:], gather(x.values, places), extents) for places in chosen]


def _stacked(rows: list[Any], of: Any) -> Any:
    """Join the results of all rows; the rows of a ragged tensor `of` become ragged rows again."""
    if isinstance(rows[0], SparseTensor) != isinstance(of, SparseTensor | SparseTensorSpec):
        raise TypeError(
            f"The two structures don't have the same nested structure: fn returned {rows[0]!r} where {of!r} was expected. Give "
            "fn_output_signature, a dtype or a tf.SparseTensorSpec."
        )
    if isinstance(rows[0], SparseTensor):
        shapes = [to_numpy(row.dense_shape.node).tolist() for row in rows]
        if any(shape != shapes[0] for shape in shapes):
            raise invalid(f"map_fn: the results of fn have different shapes: {shapes}.")
        places = [np.insert(to_numpy(row.indices.node), 0, i, axis=1) for i, row in enumerate(rows)]
        return SparseTensor(np.concatenate(places), concat([row.values for row in rows], 0), [len(rows), *shapes[0]])
    rows = [row if isinstance(row, RaggedTensor) else tensor(row) for row in rows]
    if isinstance(of, RaggedTensorSpec):
        for row in rows:
            _check_row(row, of)
    dtype = dtypes.stated(of)
    own = rows[0].dtype
    if own != dtype:
        raise invalid(f"fn returned {own.name} where {dtype.name} was expected. Give fn_output_signature=tf.{own.name}.")
    if any(isinstance(row, RaggedTensor) for row in rows):
        return joining.stack(rows)
    if isinstance(of, RaggedTensor | RaggedTensorSpec):
        return RaggedTensor.from_row_lengths(concat(rows, 0), [row.shape[0] for row in rows])
    return stack(rows)


def _check_row(row: Any, spec: RaggedTensorSpec) -> None:
    """Check a result of `fn` against its signature: its dtype, and its number of ragged axes."""
    ragged_rank = row.ragged_rank if isinstance(row, RaggedTensor) else 0
    if row.dtype != spec.dtype or ragged_rank != spec.ragged_rank or not spec.shape.is_compatible_with(row.shape):
        raise ValueError(
            f"Error in map_fn: expected `fn` to return a {spec!r}, but it returned {row!r}. To fix, update "
            "`fn_output_signature`, or `fn`."
        )
