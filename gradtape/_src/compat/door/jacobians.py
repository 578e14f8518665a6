"""Jacobians of tensors in a function or graph: `tensorflow.python.ops.parallel_for.gradients`."""

from __future__ import annotations

from typing import Any

from gradtape._src.control.mapping import map_fn
from gradtape._src.control.vectorized_map import vectorized_map
from gradtape._src.core.base.public import public
from gradtape._src.core.tensors import nest
from gradtape._src.core.tensors.tensor import Tensor
from gradtape._src.ops.array.creation import eye
from gradtape._src.ops.array.extents import shape as shape_of, size
from gradtape._src.ops.array.joining import concat
from gradtape._src.ops.array.shape import broadcast_to, reshape, transpose
from gradtape._src.v1.graphs.gradients import gradients


@public
def jacobian(output: Tensor, inputs: Any, use_pfor: bool = True, parallel_iterations: int | None = None) -> Any:
    """Return the Jacobian of `output` with respect to each of `inputs`, a tensor or a structure: [*output, *input].

    None for an input on which `output` does not depend. `use_pfor=False` computes the rows one by one.
    """
    flat = nest.flatten(inputs)
    shape, count = shape_of(output), size(output)
    units = reshape(eye(count, dtype=output.dtype), concat([[count], shape], 0))
    rows = _rows(output, flat, units, use_pfor)
    results = [row if row is None else _shaped(row, output.shape, shape, x) for row, x in zip(rows, flat, strict=True)]
    return nest.pack_sequence_as(inputs, results)


@public
def batch_jacobian(output: Tensor, inp: Tensor, use_pfor: bool = True, parallel_iterations: int | None = None) -> Any:
    """Return the Jacobian of each row of `output` by the same row of `inp`: [batch, …output, …input]; None if it does not
    depend on it.

    ValueError if the numbers of rows differ. `use_pfor=False` computes the columns one by one.
    """
    if not output.shape[:1].is_compatible_with(inp.shape[:1]):
        raise ValueError(f"Need first dimension of `output` shape ({output.shape}) and `inp` shape ({inp.shape}) to match.")
    shape = shape_of(output)
    count = size(output[0])
    units = reshape(eye(count, dtype=output.dtype), concat([[count, 1], shape[1:]], 0))
    units = broadcast_to(units, concat([[count], shape], 0))
    (found,) = _rows(output, [inp], units, use_pfor)
    if found is None:
        return None
    columns = transpose(reshape(found, concat([[count], shape[:1], [size(inp[0])]], 0)), [1, 0, 2])
    result = reshape(columns, concat([shape, shape_of(inp)[1:]], 0))
    result.set_shape(output.shape.concatenate(inp.shape[1:]))
    return result


def _rows(output: Tensor, flat: list[Tensor], units: Tensor, at_once: bool) -> list[Tensor | None]:
    """Return the gradients by `flat` for each upstream gradient in `units`, stacked; None for independent inputs."""
    known = [i for i, found in enumerate(gradients(output, flat)) if found is not None]
    sources = [flat[i] for i in known]
    if not sources:
        return [None] * len(flat)

    def row(unit: Tensor) -> Any:
        return gradients(output, sources, grad_ys=unit)

    stacked = vectorized_map(row, units) if at_once else map_fn(row, units, fn_output_signature=[x.dtype for x in sources])
    return [stacked[known.index(i)] if i in known else None for i in range(len(flat))]


def _shaped(rows: Tensor, known: Any, shape: Tensor, x: Tensor) -> Tensor:
    result = reshape(rows, concat([shape, shape_of(x)], 0))
    result.set_shape(known.concatenate(x.shape))
    return result
