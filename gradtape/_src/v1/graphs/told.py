"""Calls whose results follow from their arguments alone: what a graph need not try."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from gradtape._src.core import convert, nest
from gradtape._src.core.aval import LARGE, PROVISIONAL, Aval, aval
from gradtape._src.core.tensor import Tensor
from gradtape._src.ops.sparse.tensor import SparseTensor
from gradtape._src.v1.graphs.graph import Graph
from gradtape._src.v1.graphs.structure import structure_of

SPATIAL = 3  # axes of a convolution at most
ONE = nest.flatten_with_spec(0)[1], [True]  # a single tensor, as a structure


def told(graph: Graph, call: Any) -> tuple[Any, list[Aval | np.dtype]] | None:
    """Return the results of a call that follow from its arguments; None if it has to be tried."""
    known = TOLD.get(call.function.__name__)
    if known is None or not call.function.__module__.startswith(TELLING):
        return None
    args, kwargs = call.arguments
    return known(graph, **inspect.signature(call.function).bind(*args, **kwargs).arguments)


def _reshaped(
    graph: Graph, shape: Any, tensor: Any = None, input: Any = None, name: Any = None
) -> tuple[Any, list[Aval | np.dtype]] | None:
    """Return the result of a reshape to a shape that depends on values."""
    dtype = convert.tensor(input if tensor is None else tensor).node.aval.dtype
    if not isinstance(shape, (list, tuple)):
        vector = convert.tensor(shape).node
        if vector.aval.large or (vector.trace is graph.trace and graph.open_rank(vector)):
            return ONE, [dtype]
        found = structure_of(vector)
        return _of_extents([None] * vector.aval.size if found is None else found[0].ravel().tolist(), dtype)
    return None if any(e is None for e in shape) else _of_extents(shape, dtype)


def _of_extents(shape: Sequence[Any], dtype: np.dtype) -> tuple[Any, list[Aval | np.dtype]]:
    """Return a tensor of these extents, as far as they are known."""
    extents = [e if isinstance(e, (int, np.integer)) and 0 <= e < LARGE else PROVISIONAL for e in shape]
    return ONE, [aval(tuple(map(int, extents)), dtype)]


def _parts(
    graph: Graph, value: Any, num_or_size_splits: Any, axis: Any = 0, num: Any = None, name: Any = None
) -> tuple[Any, list[Aval | np.dtype]] | None:
    """Return the results of a split whose sizes depend on values."""
    x, axis = convert.tensor(value), axis if isinstance(axis, int) else None
    if num is None or graph.open_rank(x.node) or axis is None:
        return None
    shape = list(x.node.aval.shape)
    shape[axis] = PROVISIONAL
    return (nest.flatten_with_spec([0] * num)[1], [True] * num), [aval(tuple(shape), x.node.aval.dtype)] * num


def _turned(graph: Graph, a: Any = None, **others: Any) -> tuple[Any, list[Aval | np.dtype]] | None:
    """Return the result of a transpose whose order depends on values; None for `tf.image.transpose`, which has one order."""
    if a is None:
        return None
    x = convert.tensor(a).node
    return None if graph.open_rank(x) else (ONE, [aval((PROVISIONAL,) * x.aval.ndim, x.aval.dtype)])


def _losses(
    graph: Graph, inputs: Any = None, logits: Any = None, time_major: bool = True, logits_time_major: bool = True, **others: Any
) -> tuple[Any, list[Aval | np.dtype]]:
    """Return a loss for each row of a batch."""
    x = convert.tensor(logits if inputs is None else inputs).node
    rows = PROVISIONAL if graph.open_rank(x) else x.aval.shape[time_major and logits_time_major]
    return ONE, [aval((rows,), x.aval.dtype)]


def _of_stated_shape(
    graph: Graph, output_shape: Any = None, input_sizes: Any = None, filter_sizes: Any = None, **others: Any
) -> tuple[Any, list[Aval | np.dtype]] | None:
    """Return the result of the transpose of a convolution, whose shape is an argument; maybe its spatial axes only."""
    shape = next(s for s in (output_shape, input_sizes, filter_sizes) if s is not None)
    like = next(x for x in others.values() if isinstance(x, Tensor))
    count = len(shape) if isinstance(shape, (list, tuple)) else 0
    if output_shape is None or count > SPATIAL or (count == like.ndim and not graph.open_rank(like.node)):
        return _reshaped(graph, shape, like)
    if graph.open_rank(like.node):
        return ONE, [like.node.aval.dtype]
    return _of_extents([None] * like.ndim, like.node.aval.dtype)


def _cropped(graph: Graph, crop_size: Any, **others: Any) -> tuple[Any, list[Aval | np.dtype]] | None:
    """Return a picture of this size for each box, of as many channels as the image has."""
    height, width = crop_size if isinstance(crop_size, (list, tuple)) else (None, None)
    return _of_extents([None, height, width, None], np.dtype(np.float32))


def _attended(graph: Graph, query: Any, key: Any, value: Any, **others: Any) -> tuple[Any, list[Aval | np.dtype]]:
    """Return what attention gives: as many batches, targets and heads as the query has, as wide as the value."""
    q, v = convert.tensor(query).node, convert.tensor(value).node
    shapes = [(PROVISIONAL,) * 4 if graph.open_rank(x) else x.aval.shape for x in (q, v)]
    return ONE, [aval((*shapes[0][:3], *shapes[1][3:]), q.aval.dtype)]


def _picked(graph: Graph, scores: Any, **others: Any) -> tuple[Any, list[Aval | np.dtype]]:
    """Return the numbers of the boxes that a suppression leaves, as many as there are."""
    return ONE, [aval((PROVISIONAL,), np.dtype(np.int32))]


def _picked_with_scores(graph: Graph, scores: Any, **others: Any) -> tuple[Any, list[Aval | np.dtype]]:
    """Return the numbers of the boxes that a suppression leaves, and their scores."""
    both = nest.flatten_with_spec((0, 0))[1], [True, True]
    return both, [aval((PROVISIONAL,), np.dtype(np.int32)), aval((PROVISIONAL,), convert.tensor(scores).node.aval.dtype)]


def _searched(graph: Graph, inputs: Any, top_paths: Any = 1, **others: Any) -> tuple[Any, list[Aval | np.dtype]] | None:
    """Return what a beam search gives: labels in as many sparse matrices as paths are asked for, and how likely each is."""
    x = convert.tensor(inputs).node
    if type(top_paths) is not int or top_paths < 1 or graph.open_rank(x):
        return None
    batch, whole = x.aval.shape[1], np.dtype(np.int64)
    sparse = [aval((PROVISIONAL, 2), whole), aval((PROVISIONAL,), whole), aval((2,), whole)]
    one = SparseTensor(np.zeros((0, 2), np.int64), np.zeros(0, np.int64), [1, 1])
    leaves, layout = nest.flatten_with_spec(([one] * top_paths, 0), nest.EXPANDED)
    return (layout, [True] * len(leaves)), [*sparse * top_paths, aval((batch, top_paths), x.aval.dtype)]


TELLING = (
    "gradtape._src.ops.array.",
    "gradtape._src.ops.image.",
    "gradtape._src.ops.nn.",
    "gradtape._src.v1.ops.",
)  # where those functions stand
TOLD: dict[str, Callable[..., tuple[Any, list[Aval | np.dtype]] | None]] = {
    "reshape": _reshaped,
    "broadcast_to": _reshaped,
    "split": _parts,
    "transpose": _turned,
    "ctc_loss": _losses,
    "ctc_beam_search_decoder": _searched,
    "ctc_beam_search_decoder_v1": _searched,
    "conv1d_transpose": _of_stated_shape,
    "conv2d_transpose": _of_stated_shape,
    "conv3d_transpose": _of_stated_shape,
    "conv_transpose": _of_stated_shape,
    "atrous_conv2d_transpose": _of_stated_shape,
    "depthwise_conv2d_backprop_input": _of_stated_shape,
    "depthwise_conv2d_backprop_filter": _of_stated_shape,
    "crop_and_resize": _cropped,
    "scaled_dot_product_attention": _attended,
    "non_max_suppression": _picked,
    "non_max_suppression_overlaps": _picked,
    "non_max_suppression_with_scores": _picked_with_scores,
}
