"""Rules of dependence for JAX's primitives, by families: elementwise, moves, sums, products.

A dependence is a boolean CSR matrix. It has a row for each element of a value (in C order) and a column for each element of the
argument. For a primitive that moves elements, the rule applies it to the elements' numbers.
"""

from __future__ import annotations

import contextlib
import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from scipy import sparse

from gradtape._src.core.platform import xla
from gradtape._src.core.platform.arrays import lax


class Unknown(Exception):
    """Raised when a rule needs a value that depends on the argument, or is unknown."""


class Value:
    """A value of a computation: the dependence of its elements (None: on nothing), and the value itself if it is known."""

    __slots__ = ("_known", "dependence", "dtype", "shape")

    def __init__(self, shape: tuple[int, ...], dtype: Any, dependence: Any = None, known: Any = None) -> None:
        self.shape, self.dtype, self.dependence, self._known = tuple(shape), dtype, dependence, known

    def known(self) -> Any:
        """Return the value; raise Unknown if it is not known."""
        if callable(self._known):
            self._known = self._known()
        if self._known is None:
            raise Unknown
        return self._known

    def row(self, index: int) -> Value:
        """Return the part at `index` of the first axis."""
        shape, size = self.shape[1:], math.prod(self.shape[1:])
        part = None if self.dependence is None else self.dependence[index * size : (index + 1) * size]
        return Value(shape, self.dtype, part, None if part is not None else lambda: np.asarray(self.known())[index])

    @property
    def numbers(self) -> np.ndarray:
        """The numbers of the elements, in the shape of the value."""
        return np.arange(math.prod(self.shape)).reshape(self.shape)


def empty(rows: int, columns: int) -> Any:
    """Return an empty dependence."""
    return sparse.csr_matrix((rows, columns), dtype=bool)


def union(parts: Sequence[Any]) -> Any:
    """Return the union of the dependences of values of one shape; None if there is none."""
    present = [p for p in parts if p is not None]
    total = present[0] if present else None
    for part in present[1:]:
        total = total + part
    return total


def everything(parts: Sequence[Any], size: int) -> Any:
    """Return the dependence of `size` elements, each of which depends on everything that any part depends on."""
    present = [p for p in parts if p is not None]
    columns = np.unique(np.concatenate([p.indices for p in present]))
    indices = np.tile(columns, size)
    starts = np.arange(size + 1) * len(columns)
    return sparse.csr_matrix((np.ones(len(indices), bool), indices, starts), (size, present[0].shape[1]))


def taken(dependence: Any, numbers: np.ndarray) -> Any:
    """Return the rows at `numbers`, −1 for none."""
    numbers = np.asarray(numbers).reshape(-1)
    if (numbers < 0).any():
        dependence = sparse.vstack([dependence, empty(1, dependence.shape[1])], "csr")
        numbers = np.where(numbers < 0, dependence.shape[0] - 1, numbers)
    return dependence[numbers]


def gathered(dependence: Any, groups: np.ndarray, count: int, of: np.ndarray | None = None) -> Any:
    """Return `count` unions of rows: row `of[i]` goes into union `groups[i]`; by default row i."""
    groups = np.asarray(groups).reshape(-1)
    of = np.arange(len(groups)) if of is None else of.reshape(-1)
    pairs = (np.ones(len(groups), bool), (groups, of))
    return sparse.csr_matrix(pairs, (count, dependence.shape[0]), dtype=bool) @ dependence


# ---------------------------------------------------------------------------------------------------------------------
# Elementwise


def _elementwise(equation: Any, inputs: Sequence[Value]) -> list[Any]:
    outputs = []
    for var in equation.outvars:
        shape = tuple(var.aval.shape)
        parts = [
            x.dependence if x.shape == shape else taken(x.dependence, np.broadcast_to(x.numbers, shape))
            for x in inputs
            if x.dependence is not None
        ]
        outputs.append(union(parts))
    return outputs


ELEMENTWISE = """
    abs acos acosh add add_any and asin asinh atan atan2 atanh bessel_i0e bessel_i1e cbrt ceil clamp complex conj
    convert_element_type copy copy_p cos cosh digamma div eq erf erf_inv erfc exp exp2 expm1 floor ge gt igamma igamma_grad_a
    igammac imag integer_pow is_finite le lgamma log log1p logistic lt max min mul ne neg nextafter not or polygamma pow
    random_gamma_grad real reduce_precision regularized_incomplete_beta rem round rsqrt select_n shift_left
    shift_right_arithmetic shift_right_logical sign sin sinh sqrt square stop_gradient sub tan tanh xor zeta
    optimization_barrier
""".split()

# ---------------------------------------------------------------------------------------------------------------------
# Moves: functions of the elements' numbers


def _moved(move: Callable[[dict[str, Any], np.ndarray], np.ndarray]) -> Callable[..., list[Any]]:
    def rule(equation: Any, inputs: Sequence[Value]) -> list[Any]:
        x = inputs[0]
        if x.dependence is None:
            raise Unknown
        return [taken(x.dependence, move(equation.params, x.numbers))]

    return rule


def _broadcast(params: dict[str, Any], numbers: np.ndarray) -> np.ndarray:
    shape = [1] * len(params["shape"])
    for axis, extent in zip(params["broadcast_dimensions"], numbers.shape, strict=True):
        shape[axis] = extent
    return np.broadcast_to(numbers.reshape(shape), params["shape"])


def _sliced(params: dict[str, Any], numbers: np.ndarray) -> np.ndarray:
    strides = params["strides"] or [1] * numbers.ndim
    return numbers[tuple([slice(*w) for w in zip(params["start_indices"], params["limit_indices"], strides, strict=True)])]


def _padded(equation: Any, inputs: Sequence[Value]) -> list[Any]:
    x, filling = inputs
    if x.dependence is None or filling.dependence is not None:
        raise Unknown
    (out,) = equation.outvars
    numbers = np.full(out.aval.shape, -1)
    source, target = [], []
    for (low, _, inner), extent, room in zip(equation.params["padding_config"], x.shape, out.aval.shape, strict=True):
        places = low + np.arange(extent) * (inner + 1)
        inside = (places >= 0) & (places < room)
        source.append(np.flatnonzero(inside))
        target.append(places[inside])
    numbers[np.ix_(*target)] = x.numbers[np.ix_(*source)]
    return [taken(x.dependence, numbers)]


def _stacked(inputs: Sequence[Value]) -> tuple[Any, list[np.ndarray]]:
    """Return the dependence of the elements of all inputs, and the numbers of each input's elements among them."""
    width = next(x.dependence.shape[1] for x in inputs if x.dependence is not None)
    parts = [empty(math.prod(x.shape), width) if x.dependence is None else x.dependence for x in inputs]
    starts = np.cumsum([0, *[p.shape[0] for p in parts]])
    return sparse.vstack(parts, "csr"), [x.numbers + s for x, s in zip(inputs, starts, strict=False)]


def _rearranged(equation: Any, inputs: Sequence[Value]) -> list[Any]:
    """Apply a primitive that only moves elements of its inputs, which are numbered across all inputs."""
    dependence, numbers = _stacked(inputs)
    return [taken(dependence, equation.primitive.bind(*numbers, **equation.params))]


def _split(equation: Any, inputs: Sequence[Value]) -> list[Any]:
    (x,) = inputs
    ends = np.cumsum(equation.params["sizes"])[:-1]
    return [taken(x.dependence, part) for part in np.split(x.numbers, ends, equation.params["axis"])]


def _indexed(equation: Any, inputs: Sequence[Value]) -> list[Any]:
    """Apply gather or dynamic_slice; their indices must be known."""
    x, *places = inputs
    if x.dependence is None or any(p.dependence is not None for p in places):
        raise Unknown
    params = dict(equation.params)
    if params.get("mode") == lax.GatherScatterMode.FILL_OR_DROP:
        params["fill_value"] = -1
    return [taken(x.dependence, equation.primitive.bind(x.numbers, *[p.known() for p in places], **params))]


def _updated(equation: Any, inputs: Sequence[Value]) -> list[Any]:
    """Apply dynamic_update_slice or scatter. The elements of the update are numbered after those of the operand."""
    scatter = equation.primitive.name == "scatter"
    x, update, *places = (inputs[0], inputs[2], inputs[1]) if scatter else inputs
    if any(p.dependence is not None for p in places):
        raise Unknown
    dependence, (of_x, of_update) = _stacked([x, update])
    at = [p.known() for p in places]
    numbers = equation.primitive.bind(*([of_x, *at, of_update] if scatter else [of_x, of_update, *at]), **equation.params)
    return [taken(dependence, numbers)]


def _scattered(equation: Any, inputs: Sequence[Value]) -> list[Any]:
    """Apply a scatter that combines: an element depends on its previous value, and on all updates at its position.

    A gather of the elements' numbers with the same indices finds these positions.
    """
    x, places, update = inputs
    if places.dependence is not None:
        raise Unknown
    to = equation.params["dimension_numbers"]
    absent = {*to.inserted_window_dims, *to.operand_batching_dims}
    windows = iter([update.shape[a] for a in to.update_window_dims])
    arrivals = lax.gather(
        x.numbers,
        places.known(),
        lax.GatherDimensionNumbers(
            offset_dims=to.update_window_dims,
            collapsed_slice_dims=to.inserted_window_dims,
            start_index_map=to.scatter_dims_to_operand_dims,
            operand_batching_dims=to.operand_batching_dims,
            start_indices_batching_dims=to.scatter_indices_batching_dims,
        ),
        [1 if a in absent else next(windows) for a in range(len(x.shape))],
        mode=equation.params["mode"],
        fill_value=-1,
    )
    if update.dependence is None:
        return [x.dependence]
    at = np.asarray(arrivals).reshape(-1)
    inside = np.flatnonzero(at >= 0)
    return [union([x.dependence, gathered(update.dependence[inside], at[inside], x.numbers.size)])]


# ---------------------------------------------------------------------------------------------------------------------
# Sums


def _reduced(equation: Any, inputs: Sequence[Value]) -> list[Any]:
    axes = equation.params["axes"]
    x = inputs[0]
    (out,) = [v.aval for v in equation.outvars]
    kept = out.shape if out.ndim == len(x.shape) else [1 if a in axes else e for a, e in enumerate(x.shape)]
    groups = np.broadcast_to(np.arange(out.size).reshape(kept), x.shape)
    return [gathered(x.dependence, groups, out.size)]


def _accumulated(equation: Any, inputs: Sequence[Value]) -> list[Any]:
    """Apply a cumulative op: element k along the axis depends on itself and all before it, or all after it."""
    (x,) = inputs
    axis, extent = equation.params["axis"], x.shape[equation.params["axis"]]
    numbers = np.moveaxis(x.numbers, axis, -1).reshape(-1, extent)
    before = np.tri(extent, dtype=bool)
    before = before.T if equation.params["reverse"] else before
    to, of = np.nonzero(before)
    return [gathered(x.dependence, numbers[:, to], x.numbers.size, numbers[:, of])]


def _along(equation: Any, inputs: Sequence[Value]) -> list[Any]:
    """Apply a sort: each element depends on its whole line."""
    axis = equation.params["dimension"]
    shape = inputs[0].shape
    lines = np.arange(math.prod(shape) // max(shape[axis], 1)).reshape([1 if a == axis else e for a, e in enumerate(shape)])
    lines = np.broadcast_to(lines, shape).reshape(-1)
    total = union([x.dependence for x in inputs])
    whole = gathered(total, lines, int(lines.max(initial=-1)) + 1)[lines]
    return [whole for _ in equation.outvars]


def _windowed(equation: Any, inputs: Sequence[Value]) -> list[Any]:
    """Apply a reduction of windows: an element depends on its window."""
    x, params = inputs[0], equation.params
    if len(equation.outvars) != 1 or any(v.dependence is not None for v in inputs[1:]):
        raise Unknown
    numbers = x.numbers
    per_axis = [params[name] for name in ("window_dimensions", "window_strides", "padding", "base_dilation", "window_dilation")]
    for axis, (size, stride, (low, high), spread, apart) in enumerate(zip(*per_axis, strict=True)):
        extent = numbers.shape[axis]
        line = np.full(low + max((extent - 1) * spread + 1, 0) + high, -1)
        line[low : len(line) - high : spread] = np.arange(extent)
        starts = np.arange(0, len(line) - (size - 1) * apart, stride)
        at = line[starts[:, None] + np.arange(size) * apart]  # [windows, steps]
        numbers = np.where(
            (at >= 0).reshape([*[1] * axis, *at.shape, *[1] * (numbers.ndim - axis - 1)]), np.take(numbers, at, axis), -1
        )
        numbers = np.moveaxis(numbers, axis + 1, -1)
    (out,) = [v.aval for v in equation.outvars]
    of = numbers.reshape(out.size, -1)
    to = np.broadcast_to(np.arange(out.size)[:, None], of.shape)
    return [gathered(x.dependence, to[of >= 0], out.size, of[of >= 0])]


# ---------------------------------------------------------------------------------------------------------------------
# Batches of matrices


def blockwise(inputs: Sequence[Value], shapes: Sequence[tuple[int, ...]], batches: int) -> list[Any]:
    """Return the dependences of results of these `shapes`: the result of a matrix depends on all elements of its inputs.

    The first `batches` inputs are batches of matrices; the others are shared by the batch.
    """
    first = inputs[:batches]
    batch = np.broadcast_shapes(*[x.shape[:-2] for x in first])
    count, blocks = math.prod(batch), []
    for i, x in enumerate(inputs):
        if x.dependence is None:
            continue
        of = np.broadcast_to(x.numbers, (*batch, *x.shape[-2:])) if i < len(first) else np.tile(x.numbers.reshape(-1), (count, 1))
        to = np.repeat(np.arange(count), of.size // max(count, 1))
        blocks.append(gathered(x.dependence, to, count, of))
    total = union(blocks)
    return [taken(total, np.repeat(np.arange(count), math.prod(shape) // max(count, 1))) for shape in shapes]


# ---------------------------------------------------------------------------------------------------------------------
# Products


def _product(equation: Any, inputs: Sequence[Value]) -> list[Any]:
    """Apply dot_general. Zeros of a known factor are left out."""
    contracted, batched = equation.params["dimension_numbers"]
    (out,) = [v.aval for v in equation.outvars]
    orders, extents = [], []  # for each factor: its axes in the order batches, rows, steps; and the size of each group
    for x, steps, batches in zip(inputs, contracted, batched, strict=True):
        rows = [a for a in range(len(x.shape)) if a not in batches and a not in steps]
        orders.append((*batches, *rows, *steps))
        extents.append([math.prod([x.shape[a] for a in axes]) for axes in (batches, rows, steps)])
    results = np.arange(out.size).reshape(extents[0][0], extents[0][1], extents[1][1])
    parts = []
    for side, x in enumerate(inputs):
        if x.dependence is None:
            continue
        other = inputs[1 - side]
        weights = np.ones(extents[1 - side], bool)  # [batches, rows of the other, steps]
        if other.dependence is None:
            with contextlib.suppress(Unknown):
                weights = np.asarray(other.known()).transpose(orders[1 - side]).reshape(weights.shape) != 0
        batch, row, step = np.nonzero(weights)
        numbers = x.numbers.transpose(orders[side]).reshape(extents[side])
        to = (results if side == 0 else results.transpose(0, 2, 1))[batch, :, row]
        parts.append(gathered(x.dependence, to, out.size, numbers[batch, :, step]))
    return [union(parts)]


def _convolved(equation: Any, inputs: Sequence[Value]) -> list[Any]:
    """Apply a convolution: an output element depends on its window of the image, and on all of a filter that is not constant."""
    image, kernel = inputs
    params = equation.params
    (out,) = [v.aval for v in equation.outvars]
    if image.dependence is None or kernel.dependence is not None or params["batch_group_count"] != 1:
        raise Unknown
    spec = params["dimension_numbers"]
    window = [kernel.shape[a] for a in spec.rhs_spec[2:]]
    patches = xla.jit(
        lambda numbers: lax.conv_general_dilated_patches(
            numbers, window, params["window_strides"], params["padding"], params["lhs_dilation"], params["rhs_dilation"],
            dimension_numbers=spec, precision=lax.Precision.HIGHEST,
        )
    )((image.numbers + 1).astype(np.float64))  # fmt: skip
    # [batch, channels · window, *space]: element numbers from 1, and 0 for padding
    found = np.rint(np.moveaxis(np.asarray(patches), [*spec.out_spec], range(patches.ndim))).astype(np.int64)
    batch, _, *space = found.shape
    groups = params["feature_group_count"]
    found = found.reshape(batch, groups, -1, *space)
    results = np.moveaxis(np.arange(out.size).reshape(out.shape), [*spec.out_spec], range(out.ndim))
    results = results.reshape(batch, groups, -1, *space)
    to, of = np.broadcast_arrays(results[:, :, :, None], found[:, :, None])
    return [gathered(image.dependence, to[of > 0], out.size, of[of > 0] - 1)]


RULES: dict[str, Callable[[Any, Sequence[Value]], list[Any]]] = {
    **dict.fromkeys(ELEMENTWISE, _elementwise),
    "broadcast_in_dim": _moved(_broadcast),
    "reshape": _moved(lambda params, numbers: numbers.reshape(-1)),
    "squeeze": _moved(lambda params, numbers: numbers.reshape(-1)),
    "expand_dims": _moved(lambda params, numbers: numbers.reshape(-1)),
    "transpose": _moved(lambda params, numbers: numbers.transpose(params["permutation"])),
    "rev": _moved(lambda params, numbers: np.flip(numbers, params["dimensions"])),
    "slice": _moved(_sliced),
    "pad": _padded,
    "concatenate": _rearranged,
    "split": _split,
    "gather": _indexed,
    "dynamic_slice": _indexed,
    "dynamic_update_slice": _updated,
    "scatter": _updated,
    **dict.fromkeys(["scatter-add", "scatter-sub", "scatter-mul", "scatter-min", "scatter-max"], _scattered),
    "stack": _rearranged,
    "tile": _rearranged,
    **dict.fromkeys(["reduce_sum", "reduce_max", "reduce_min", "reduce_prod"], _reduced),
    **dict.fromkeys(["cumsum", "cumprod", "cummax", "cummin", "cumlogsumexp"], _accumulated),
    **dict.fromkeys(["reduce_window", "reduce_window_sum", "reduce_window_max", "reduce_window_min"], _windowed),
    "sort": _along,
    "dot_general": _product,
    "conv_general_dilated": _convolved,
}
