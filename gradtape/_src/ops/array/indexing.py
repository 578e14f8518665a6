"""NumPy-style indexing of tensors and variables, `slice` and `strided_slice`.

An index expression becomes a *window*: for each axis its start, size and stride. Starts are operands, the rest is structure. So
`x[i]` and `x[i : i + 32]` are one compiled program for all `i`.
"""

import functools
import numbers

import numpy as np

from gradtape._src.core.base.errors import invalid, invalid_for, of_op
from gradtape._src.core.base.hooks import attach
from gradtape._src.core.base.public import public
from gradtape._src.core.base.signatures import known_as
from gradtape._src.core.declarations.define import gradient, guard, guarded, not_differentiable, op
from gradtape._src.core.engine import constant_folding, engine
from gradtape._src.core.platform import xla
from gradtape._src.core.platform.arrays import jnp, lax
from gradtape._src.core.platform.lowerings import HOST, lowered, lowering
from gradtape._src.core.programs.guards import refusal
from gradtape._src.core.programs.program import Node
from gradtape._src.core.tensors.convert import holds_tensor, node_of, static_list, static_vector, tensor
from gradtape._src.core.tensors.tensor import Stored, Tensor, emit, handle, index_of
from gradtape._src.core.tensors.variable import Variable
from gradtape._src.core.tensors.variable_ops import STATE
from gradtape._src.core.values import dtypes
from gradtape._src.core.values.aval import aval
from gradtape._src.core.values.dim import Dim, is_same, is_unknown, unknown
from gradtape._src.ops.array.gather import is_outside
from gradtape._src.ops.array.joining import _pack, unstack
from gradtape._src.ops.array.select import boolean_mask
from gradtape._src.ops.array.shape import plain

newaxis = None
WRONG_INDEX = (
    "Only integers, slices (`:`), ellipsis (`...`), tf.newaxis (`None`) and scalar tf.int32/tf.int64 tensors are "
    "valid indices, got {!r}. Use tf.gather to index with a vector, tf.boolean_mask or a bool tensor to select by a "
    "mask."
)


# ---------------------------------------------------------------------------------------------------------------------
# Kernels on windows


def _index_type(shape):
    """Return the dtype for indices into an array of `shape`: int32, or int64 where an extent may exceed int32."""
    return np.dtype(np.int32 if all(is_unknown(e) or (xla.is_number(e) and e < 1 << 31) for e in shape) else np.int64)


def _starts(begin, axes, shape):
    """Return the start of a window on every axis of `shape`, for `lax`: 0 where the window is the whole axis."""
    index_type = _index_type(shape)
    starts = [jnp.zeros((), index_type)] * len(shape)
    for axis, start in zip(axes, begin, strict=True):
        starts[axis] = start.astype(index_type)
    return starts


def _counts(sizes, strides):
    """Return the number of elements that a window takes on each axis."""
    return tuple([-(-size // abs(stride)) for size, stride in zip(sizes, strides, strict=True)])


def _downwards(strides):
    return tuple([axis for axis, stride in enumerate(strides) if stride < 0])


@lowered("a window of an array")
def _take(x, begin, *, axes, sizes, strides):
    if axes:
        x = lax.dynamic_slice(x, _starts(begin, axes, x.shape), sizes)
    elif sizes != x.shape:
        x = lax.slice(x, (0,) * x.ndim, sizes)
    x = lax.rev(x, _downwards(strides))
    return lax.slice(x, (0,) * x.ndim, sizes, tuple([abs(stride) for stride in strides]))


def _spread(x, strides, fill):
    """Invert a strided slice: put `fill` into the gaps between the elements."""
    x = lax.pad(x, fill, tuple([(0, 0, abs(stride) - 1) for stride in strides]))
    return lax.rev(x, _downwards(strides))


@lowered("a window in an array of zeros")
def _placed(x, *begin, axes, shape):
    return lax.dynamic_update_slice(jnp.zeros(shape, x.dtype), x, _starts(begin, axes, shape))


def _surrounded(x, *begin, axes, shape):
    before = [0] * len(shape)
    for axis, start in zip(axes, begin, strict=True):
        before[axis] = min(max(int(start), 0), shape[axis] - x.shape[axis])
    around = [(start, extent - size - start, 0) for start, extent, size in zip(before, shape, x.shape, strict=True)]
    return lax.pad(x, jnp.zeros((), x.dtype), around)


lowering(
    _placed, platform=HOST, rule=_placed.plain, because="NumPy joins nothing: zeros and one copy are quicker than its padding"
)
lowering(
    _placed,
    when=lambda x, *begin, axes, shape: all(map(xla.is_known, begin)) and all(map(xla.is_number, (*x.shape, *shape))),
    rule=_surrounded,
    because="a place that is known: XLA joins paddings with what is around them, and a batch of updates would be a scatter. The "
    "Hessian of an energy on a mesh takes 0.23 ms for 0.63",
)


def _window_of(x, begin, *, axes, sizes, strides):
    """Take a window from an array in NumPy, the kernel on the host."""
    first = [0] * len(sizes)
    for axis, start in zip(axes, begin, strict=True):
        first[axis] = min(max(int(start), 0), x.shape[axis] - sizes[axis])
    bounds = zip(first, sizes, strides, strict=True)
    # Without the ellipsis the result would be no array where there are no axes.
    return x[(*[slice(f, f + n, s) if s > 0 else slice(f + n - 1, f - 1 if f else None, s) for f, n, s in bounds], ...)]


lowering(_take, platform=HOST, rule=_window_of, because="NumPy takes a window with strides in one step")


@op(
    "StridedSlice", saves="begin", mixed=True, infer=lambda input, *begin, axes, sizes, strides, shape: aval(shape, input.dtype),
    strings=True, operator="strided_slice", traits="takes linear_in_first hands_on", folds=True,
)  # fmt: skip
def _strided_slice(input, *begin, axes, sizes, strides, shape):
    return lax.reshape(_take(input, begin, axes=axes, sizes=sizes, strides=strides), shape)


@gradient(_strided_slice)
def _(dy, input, begin, *, axes, sizes, strides):
    return _window_gradient(dy, input, begin, axes, sizes, strides)


def _window_gradient(dy, input, begin, axes, sizes, strides):
    nodes = (dy.node, *[index.node for index in begin])
    return [emit(_strided_slice_gradient.op, nodes, (axes, sizes, strides, input.node.aval.shape)), *[None] * len(begin)]


@op(
    "StridedSliceGrad", saves="begin", mixed=True, infer=lambda dy, *begin, axes, sizes, strides, shape: aval(shape, dy.dtype),
    flops=0, traits="hands_on",
)  # fmt: skip
def _strided_slice_gradient(dy, *begin, axes, sizes, strides, shape):
    x = _spread(lax.reshape(dy, _counts(sizes, strides)), strides, jnp.zeros((), dy.dtype))
    if sizes == shape:
        return x
    return _placed(x, *begin, axes=axes, shape=shape)


@gradient(_strided_slice_gradient)
def _(ddx, dy, begin, *, axes, sizes, strides):
    nodes = (ddx.node, *[index.node for index in begin])
    return [emit(_strided_slice.op, nodes, (axes, sizes, strides, dy.node.aval.shape)), *[None] * len(begin)]


@op(
    "Slice", saves="begin", mixed=True, infer=lambda input, *begin, axes, size: aval(size, input.dtype),
    strings=True, traits="takes hands_on",
)  # fmt: skip
def _slice(input, *begin, axes, size):
    return _take(input, begin, axes=axes, sizes=size, strides=(1,) * input.ndim)


@gradient(_slice)
def _(dy, input, begin, *, axes, size):
    return _window_gradient(dy, input, begin, axes, size, (1,) * len(size))


def _assigned(value, update, *begin, axes, sizes, strides, shape):
    try:
        fits = np.broadcast_shapes(update.shape, shape) == shape
    except ValueError:
        fits = False
    if not fits and (shape or any(extent != 1 for extent in update.shape)):  # a single element takes any shape of one element
        raise invalid(
            f"Cannot assign a value of shape {plain(update.shape)} into a slice of shape {plain(shape)}: give a value "
            f"that can be broadcast to the slice."
        )
    return value


@op("ResourceStridedSliceAssign", mixed=True, infer=_assigned, strings=True, flops=0)
def _assign(value, update, *begin, axes, sizes, strides, shape):
    counts = _counts(sizes, strides)
    update = update if shape else update.reshape(())
    update = _spread(lax.reshape(jnp.broadcast_to(update, shape), counts), strides, jnp.zeros((), value.dtype))
    starts = _starts(begin, axes, value.shape)
    if counts != sizes:
        named = _spread(jnp.ones(counts, bool), strides, jnp.zeros((), bool))
        update = jnp.where(named, update, lax.dynamic_slice(value, starts, sizes))
    return lax.dynamic_update_slice(value, update, starts)


not_differentiable(_assign, because=STATE)


# ---------------------------------------------------------------------------------------------------------------------
# Index expressions


def _integer(index):
    """Convert an index to an int, or to a node where a traced tensor has no value yet."""
    if type(index) is Dim:
        return index
    if isinstance(index, numbers.Integral):
        return int(index)
    if isinstance(index, (Tensor, Stored)):
        if index.dtype.is_integer and not index.ndim:
            node = index.node if isinstance(index, Tensor) else index.read()
            if node.value is None and engine.local.trace.parent is not None:
                known = constant_folding.folded(node)
                return node if known is None else int(known)
            return int(index_of(node))
    elif isinstance(index, np.ndarray) and index.dtype.kind in "iu" and not index.ndim:
        return int(index)
    raise TypeError(WRONG_INDEX.format(index))


def _bound(value):
    if value is None:
        return None
    bound = _integer(value)
    if isinstance(bound, Node) and (known := engine.integers(bound)) is not None:
        return known.item()
    return bound


def window(shape, index):
    """Return the window of an index expression (a tuple) on `shape`: `(axes, sizes, strides, result's shape, starts)`.

    `axes` are those on which the window is not the whole axis. `starts` are its positions on these axes: ints, or nodes.
    """
    rank = len(shape)
    consumed = sum([1 for item in index if item is not None and item is not Ellipsis])
    ellipses = sum([1 for item in index if item is Ellipsis])
    if ellipses > 1:
        raise invalid("Multiple ellipses in slice spec not allowed: one `...` stands for all axes that are not named.")
    if consumed > rank:
        if not rank:
            raise invalid("Attempting to slice scalar input: a scalar has no axes; only x[...] and x[None] can be taken.")
        raise invalid_for(
            "StridedSlice",
            f"Index out of range using input dim {rank}; input has only {rank} dims\n{consumed} indices were given.",
        )
    axes, sizes, strides, begins, result = [], [], [], [], []
    axis = 0
    for item in index if ellipses else (*index, Ellipsis):
        if item is None:
            result.append(1)
            continue
        if item is Ellipsis:
            for _ in range(rank - consumed):
                sizes.append(shape[axis])
                strides.append(1)
                result.append(shape[axis])
                axis += 1
            continue
        extent = shape[axis]
        if isinstance(item, slice):
            start, count, stride = _range(item, extent, axis)
            result.append(count)
            if is_unknown(extent):
                size = count
            else:
                size = (count - 1) * abs(stride) + 1 if count else 0
                start -= size - 1 if stride < 0 else 0
        else:
            start, size, stride = _place(_integer(item), extent, axis), 1, 1
        if not is_same(size, extent) and not is_same(size, 0):
            axes.append(axis)
            begins.append(start)
        sizes.append(size)
        strides.append(stride)
        axis += 1
    return tuple(axes), tuple(sizes), tuple(strides), tuple(result), begins


def _range(item, extent, axis):
    """Return `(start, count, stride)` of a slice of an axis."""
    stride = 1 if item.step is None else _integer(item.step)
    first, last = _bound(item.start), _bound(item.stop)
    if any(isinstance(bound, Node) for bound in (first, last, stride)):
        raise engine.NeedsValues(
            f"The extent of axis {axis} of a slice depends on values: {item}. In compiled code shapes are fixed: use "
            "tf.slice with a size that is known, tf.gather, or a mask."
        )
    if stride == 0:
        raise invalid(f"strides[{axis}] must be non-zero: {item} names no elements.")
    if is_unknown(extent):
        return first or 0, extent if first is None and last is None and abs(stride) == 1 else unknown(), stride
    low, high = (0, extent) if stride > 0 else (-1, extent - 1)
    start = (low if stride > 0 else high) if first is None else _clipped(first, extent, low, high)
    stop = (high if stride > 0 else low) if last is None else _clipped(last, extent, low, high)
    count = -((start - stop) // stride)
    count = 0 if count < 0 else count
    return start, count, stride if stride == 1 or count > 1 else 1


def _clipped(bound, extent, low, high):
    """Return a slice bound as a position between `low` and `high`; a negative bound counts from the end."""
    place = bound + extent if bound < 0 else bound
    return low if place < low else high if place > high else place


def _beyond(index, extent, axis):
    """Return the message for an index out of range, or None."""
    place = index + extent if index < 0 else index
    if 0 <= place < extent:
        return None
    return f"slice index {place} of dimension {axis} out of bounds.\nThe axis has {extent} elements."


_INDEX = guard(
    "StridedSliceIndex",
    "extent axis",
    refuses=lambda index, extent, axis: [
        (is_outside(index, extent, -extent), lambda: of_op(_beyond(index, extent, axis), "StridedSlice"))
    ],
)


def _place(index, extent, axis):
    if isinstance(index, Node):
        return guarded(_INDEX, index, (extent, axis))
    wrong = _beyond(index, extent, axis)
    if wrong:
        raise invalid_for("StridedSlice", wrong)
    return index + extent if index < 0 else index


def _nodes(begins, shape):
    """Convert the starts of a window to nodes of the index dtype."""
    return tuple([begin if isinstance(begin, Node) else node_of(begin, _index_type(shape)) for begin in begins])


def _take_window(node, index):
    """Record the slice of a node by an index expression (a tuple)."""
    axes, sizes, strides, shape, begins = window(node.aval.shape, index)
    return emit(_strided_slice.op, (node, *_nodes(begins, node.aval.shape)), (axes, sizes, strides, shape))


def _is_mask(index):
    if isinstance(index, (Tensor, Stored)):
        return index.dtype == dtypes.bool
    return isinstance(index, (bool, np.bool_)) or (isinstance(index, np.ndarray) and index.dtype == bool)


def _as_tuple(index):
    if type(index) is tuple:
        return index
    return tuple(index) if isinstance(index, list) else (index,)


@public
def getitem(self, index):
    """Return `self[index]`: ints, slices, `...`, `None`, scalar integer tensors, or one boolean mask, as in NumPy."""
    if _is_mask(index):
        return boolean_mask(self, index)
    return _take_window(self.node if isinstance(self, Tensor) else self.read(), _as_tuple(index))


@public
def getitem_of_variable(self, index):
    """Return `variable[index]` as a Tensor, whose method `assign(value)` assigns to these elements."""
    result = getitem(self, index)
    if not _is_mask(index):
        result.assign = functools.partial(assign_window, self, index)
    return result


@public
def assign_window(variable, index, value, name=None):
    """Assign `value`, which may broadcast, to the elements of `variable` at `index`. Returns the variable."""
    with engine.shared:
        node = variable.held()
        axes, sizes, strides, shape, begins = window(node.aval.shape, _as_tuple(index))
        update = node_of(value, node.aval.dtype)
        if update.aval.dtype is not node.aval.dtype:
            raise ValueError(
                f"Cannot assign a value of dtype {update.aval.type.name} to a slice of variable '{variable.name}', which "
                f"has dtype {node.aval.type.name}. Use tf.cast."
            )
        return variable._hold(
            engine.record(_assign.op, (node, update, *_nodes(begins, node.aval.shape)), (axes, sizes, strides, shape))
        )


attach(Tensor, __getitem__=getitem)
attach(Variable, __getitem__=getitem_of_variable)


# ---------------------------------------------------------------------------------------------------------------------
# As functions


@public
@known_as("slice")
def slice_(input_, begin, size, name=None) -> Tensor:
    """Return the part of `input_` that starts at `begin` and has the shape `size` (-1: to the end of the axis).
    InvalidArgumentError if it does not fit.

    >>> tf.slice([[1, 2, 3], [4, 5, 6]], [0, 1], [2, 2]).numpy().tolist()
    [[2, 3], [5, 6]]
    """
    x = tensor(input_)
    shape = x.node.aval.shape
    size = static_list(size, "size")
    traced = engine.local.trace.parent is not None
    if traced and isinstance(begin, (list, tuple)) and holds_tensor(begin):
        begin = tensor(begin)
    static = not isinstance(begin, Tensor) or begin.node.aval.open or begin.node.value is not None
    if not static and traced and constant_folding.folded(begin.node) is None:
        begins = [b if (known := constant_folding.folded(b)) is None else int(known) for b in _entries(begin)]
    else:
        begins = list(static_list(begin, "begin"))
    if len(begins) != x.ndim or len(size) != x.ndim:
        raise invalid(
            f"Expected begin and size arguments to be 1-D tensors of size {x.ndim}, but got shapes [{len(begins)}] and "
            f"[{len(size)}] instead: give one entry for each axis of {plain(shape)}."
        )
    sizes, rest = [], [slice(None)] * x.ndim
    for axis, (start, count, extent) in enumerate(zip(begins, size, shape, strict=True)):
        if not isinstance(start, Node):
            if message := refusal(_beyond_part(start, extent, count, axis)):
                raise invalid_for("Slice", message)
            count = extent - start if count == -1 else count
        else:
            if not is_unknown(extent):
                begins[axis] = start = guarded(_PART, start, (extent, count, axis))
            if count == -1:  # delegated to an index expression, which handles an extent that depends on values
                begins[axis], count, rest[axis] = 0, extent, slice(handle(start), None)
        sizes.append(count)
    axes = tuple([axis for axis, count in enumerate(sizes) if count and count != shape[axis]])
    part = emit(_slice.op, (x.node, *_nodes([begins[axis] for axis in axes], x.node.aval.shape)), (axes, tuple(sizes)))
    return part[tuple(rest)] if any(bounds.start is not None for bounds in rest) else part


def _entries(vector):
    """Return the nodes of the entries of a vector: the operands of `stack`, if it was stacked."""
    node = vector.node
    if node.inputs and node.op.plain is _pack.op and not vector.node.inputs[0].aval.ndim:
        return node.inputs
    return [entry.node for entry in unstack(vector)]


def _beyond_part(index, extent, count, axis):
    """Refuse a slice of an axis, from `index` on, that does not fit."""
    yield (index < 0) | (index > extent), lambda: of_op(f"Expected begin[{axis}] in [0, {extent}], but got {index}", "Slice")
    if count != -1 and not is_unknown(count):
        beyond = (index > extent - count) | (count < 0)
        yield beyond, lambda: of_op(f"Expected size[{axis}] in [0, {extent - int(index)}], but got {count}", "Slice")


_PART = guard("SliceBegin", "extent count axis", refuses=_beyond_part)


@public
def strided_slice(
    input_, begin, end, strides=None, begin_mask=0, end_mask=0, ellipsis_mask=0, new_axis_mask=0, shrink_axis_mask=0,
    var=None, name=None,
):  # fmt: skip
    """Return `input_[begin[0] : end[0] : strides[0], …]`, the op behind the indexing syntax.

    Bit i of a mask changes entry i. `begin_mask`, `end_mask`: the bound is ignored. `ellipsis_mask`: the entry is `...`.
    `new_axis_mask`: it is a new axis. `shrink_axis_mask`: it is the index `begin[i]`.

    >>> tf.strided_slice([0, 1, 2, 3, 4], [0], [5], [2]).numpy()
    array([0, 2, 4], dtype=int32)
    """
    begin, end = static_vector(begin, "begin"), static_vector(end, "end")
    strides = (1,) * len(begin) if strides is None else static_vector(strides, "strides")
    if not len(begin) == len(end) == len(strides):
        raise invalid_for(
            "StridedSlice",
            f"Expected begin, end, and strides to be 1D equal size tensors, but got shapes [{len(begin)}], "
            f"[{len(end)}], and [{len(strides)}] instead.",
        )
    index: list = []
    for i, (start, stop, stride) in enumerate(zip(begin, end, strides, strict=True)):
        bit = 1 << i
        if ellipsis_mask & bit:
            index.append(Ellipsis)
        elif new_axis_mask & bit:
            index.append(None)
        elif shrink_axis_mask & bit:
            if stride <= 0:
                raise invalid("only stride 1 allowed on non-range indexing.")
            index.append(start)
        else:
            index.append(slice(None if begin_mask & bit else start, None if end_mask & bit else stop, stride))
    result = _take_window(tensor(input_).node, tuple(index))
    if var is not None:
        result.assign = functools.partial(assign_window, var, tuple(index))
    return result
