"""Identities, and changes of shape that keep the order of the elements or permute axes: reshape, transpose, broadcast."""

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from gradtape._src.core.base import hooks
from gradtape._src.core.base.errors import invalid, invalid_for
from gradtape._src.core.base.public import public
from gradtape._src.core.declarations.define import gradient, not_differentiable, op
from gradtape._src.core.engine import engine
from gradtape._src.core.platform.arrays import jnp
from gradtape._src.core.programs import journal
from gradtape._src.core.tensors.convert import is_tensor, static_list, static_vector, tensor, tensor as as_tensor
from gradtape._src.core.tensors.indexed_slices import IndexedSlices
from gradtape._src.core.tensors.tensor import EagerTensor, Tensor, emit, extents_of, handle
from gradtape._src.core.values import dtypes
from gradtape._src.core.values.aval import aval
from gradtape._src.core.values.dim import is_same, is_unknown
from gradtape._src.core.values.shape import TensorShape
from gradtape._src.ops.shapes import INDEX, broadcast_shapes, plain as plain, require, same


def extents(shape, what="shape"):
    """Convert a shape argument (ints, a TensorShape, an array, a tensor) to a tuple of ints that are not negative."""
    shape = static_list(shape, what)
    for extent in shape:
        if extent < 0:
            raise invalid(f"Dimension {extent} must be >= 0: {what} is {plain(shape)}, and an extent cannot be negative.")
    return shape


def host_constant(array):
    """Create a Tensor from a NumPy array that the library owns, without a copy."""
    node = engine.constant(array)
    journal.made(node)
    return EagerTensor(node)


LARGEST = np.iinfo(np.int32).max


def host_shape(extents):
    """Create an int32 Tensor from a shape. While a graph is built an unknown extent may exceed int32."""
    return host_constant(np.array([min(extent, LARGEST) for extent in extents], np.int32))


def broadcast_source(dy, axes=()):
    """Return the source of the broadcast `dy`, with extent 1 along its constant axes; None if it is no broadcast along `axes`.

    A rule that preserves a broadcast passes a small tensor on, instead of a large constant one.
    """
    node = dy.node
    if node.op is not _broadcast_to.op or node.inputs is None:
        return None
    (source,) = node.inputs
    shape = (1,) * (node.aval.ndim - source.aval.ndim) + source.aval.shape
    if not all(is_same(shape[axis], 1) for axis in axes):
        return None
    return _reshape(handle(source), shape=shape)


def under_broadcast(function, dy):
    """Apply an element-wise function to a cotangent; if that is a broadcast, apply it to the source and broadcast the result."""
    node = dy.node
    if node.op is not _broadcast_to.op or node.inputs is None:
        return function(dy)
    return _broadcast_to(function(handle(node.inputs[0])), shape=node.aval.shape)


# ---------------------------------------------------------------------------------------------------------------------
# Identities


# The traits of an op that changes the shape, and keeps elements and their order.
VIEW: dict[str, Any] = {"cheap": True, "traits": "renames linear keeps_norm hands_on", "folds": True}


@op("Identity", infer=same, strings=True, takes_slices=True, **VIEW)
def _identity(input):
    return input


@gradient(_identity)
def _(dy):
    return dy


@public
def identity(input, name=None):
    """Return a new Tensor with the value of `input`; gradients pass through it. A variable is read.

    >>> tf.identity([1.0, 2.0]).numpy()
    array([1., 2.], dtype=float32)
    """
    if isinstance(input, IndexedSlices):
        return IndexedSlices(identity(input.values), identity(input.indices), input.dense_shape)
    return _identity(tensor(input))


hooks.core.stated = lambda node, known: engine.record_as(_identity.op, (node,), (), known)


@op("IdentityN", infer=lambda *input: input, cheap=True, mixed=True, strings=True, traits="renames hands_on")
def _identity_n(*input):
    return input


@gradient(_identity_n)
def _(*dy):
    return dy


@public
def identity_n(input: Sequence[Any], name=None):
    """Return a list of new Tensors with the values of the list `input`. It is one op, so one custom gradient can cover all of
    them.

    >>> [x.numpy().tolist() for x in tf.identity_n([[1.0], [2.0, 3.0]])]
    [[1.0], [2.0, 3.0]]
    """
    return list(_identity_n(*input))


@op("StopGradient", infer=same, cheap=True, strings=True, traits="renames", folds=True)
def _stop_gradient(input):
    return input


not_differentiable(_stop_gradient, because="stop_gradient was asked to treat its input as a constant")


@public
def stop_gradient(input, name=None):
    """Return `input`, as a constant: no gradient passes.

    >>> x = tf.Variable(3.0)
    >>> with tf.GradientTape() as tape:
    ...     y = x * tf.stop_gradient(x)
    >>> float(tape.gradient(y, x))
    3.0
    """
    if isinstance(input, IndexedSlices):
        return IndexedSlices(stop_gradient(input.values), input.indices, input.dense_shape)
    return _stop_gradient(input)


# ---------------------------------------------------------------------------------------------------------------------
# Broadcast. The file `gradients.py` has its gradient, the sum over the broadcast axes.


def _broadcast_aval(input, shape):
    if len(input.shape) > len(shape):
        raise invalid(
            f"Rank of input ({input.ndim}) must be no greater than rank of output shape ({len(shape)}): "
            f"{plain(input.shape)} cannot be broadcast to {plain(shape)}. Give every axis an extent."
        )
    pairs = list(zip(reversed(input.shape), reversed(shape), strict=False))
    wrong = [(m, n) for m, n in pairs if not is_same(m, n) and m not in (1, n) and not (is_unknown(m) or is_unknown(n))]
    if wrong:
        given, wanted = plain(input.shape), plain(shape)
        unlike = f"Incompatible shapes: {given} vs. {wanted}"
        if all(n == 1 for _, n in wrong):
            unlike = f"Unable to broadcast tensor of shape {given} to tensor of shape {wanted}"
        raise invalid(
            f"{unlike}\nAn axis can be broadcast only if its extent is 1. Axes are matched from the last one; expand_dims puts "
            "one in."
        )
    return aval(shape, input.dtype)


@op("BroadcastTo", infer=_broadcast_aval, cheap=True, strings=True, flops=0, traits="linear")
def _broadcast_to(input, *, shape):
    return jnp.broadcast_to(input, shape)


@public
def broadcast_to(input, shape, name=None) -> Tensor:
    """Return `input` repeated along axes of extent 1, and along new axes in front, to `shape`.

    Any dtype, which is kept. InvalidArgumentError if the shapes are incompatible.

    >>> tf.broadcast_to([1.0, 2.0], [2, 2]).numpy().tolist()
    [[1.0, 2.0], [1.0, 2.0]]
    """
    return _broadcast_to(tensor(input), shape=extents(static_vector(shape, "shape")))


@public
def broadcast_static_shape(shape_x, shape_y):
    """Return the TensorShape that two shapes broadcast to, as far as it is known; ValueError if they are incompatible.

    >>> tf.broadcast_static_shape(tf.TensorShape([2, 1]), tf.TensorShape([1, 3]))
    TensorShape([2, 3])
    """
    first, second = TensorShape(shape_x), TensorShape(shape_y)
    if first.rank is None or second.rank is None:
        return TensorShape(None)
    rank = max(first.rank, second.rank)
    result = []
    for m, n in zip(*[(1,) * (rank - s.rank) + tuple(s.as_list()) for s in (first, second)], strict=True):
        if m == 1 or n == 1:
            result.append(n if m == 1 else m)
        elif m is None or n is None:
            result.append(n if m is None else m)
        elif m == n:
            result.append(m)
        else:
            raise ValueError(
                f"Incompatible shapes for broadcasting: {first} and {second}: {m} and {n} are neither equal nor 1. "
                f"Axes are matched from the last one."
            )
    return TensorShape(result)


def index_operands(*values):
    """Convert operands to int32 or int64 Tensors of one dtype: that of the operands that are tensors, else int32."""
    dtype = next((x.dtype for x in values if is_tensor(x)), dtypes.int32)
    made = [tensor(x) if is_tensor(x) else tensor(x, dtype) for x in values]
    for x in made:
        require(x.node.aval, INDEX)
        if x.dtype != dtype:
            raise invalid(f"shapes must have one dtype, received {dtypes.as_dtype(dtype).name} and {x.dtype.name}. Use tf.cast.")
    return made


@public
def broadcast_dynamic_shape(shape_x, shape_y):
    """Return the shape, an integer Tensor, that two shapes (integer vectors) broadcast to.

    >>> tf.broadcast_dynamic_shape([2, 1], [1, 3]).numpy()
    array([2, 3], dtype=int32)
    """
    first, second = index_operands(shape_x, shape_y)
    shape = broadcast_shapes(static_list(first, "shape_x"), static_list(second, "shape_y"))
    return host_constant(np.array(shape, first.dtype.numpy))


# ---------------------------------------------------------------------------------------------------------------------
# Reshape


def _reshape_aval(tensor, shape):
    result = aval(shape, tensor.dtype)
    if result.size != tensor.size and not (is_unknown(tensor.size) or is_unknown(result.size)):
        raise invalid(
            f"Input to reshape is a tensor with {tensor.size} values, but the requested shape has {result.size}\n"
            f"{plain(tensor.shape)} cannot be reshaped to {plain(shape)}. One extent may be -1, which stands for what "
            f"is left."
        )
    return result


@op("Reshape", infer=_reshape_aval, strings=True, **VIEW)
def _reshape(tensor, *, shape):
    return jnp.reshape(tensor, shape)


@gradient(_reshape)
def _(dy, tensor):
    return _reshape(dy, shape=tensor.node.aval.shape)


def _resolve(shape, before):
    """Replace the extent -1 in `shape` so that the number of elements of a tensor of shape `before` is kept.

    Zeros are ignored on both sides where `shape` has a 0 itself: [0, 3] to [-1, 0] is [3, 0].
    """
    unknown = [axis for axis, extent in enumerate(shape) if extent < 0]
    for axis in unknown:
        if shape[axis] != -1:
            raise invalid_for(
                "Reshape", f"Size {axis} must be non-negative, not {shape[axis]}\nThe requested shape is {plain(shape)}."
            )
    if len(unknown) > 1:
        raise invalid_for(
            "Reshape",
            f"Only one input size may be -1, not both {unknown[0]} and {unknown[1]}\nThe requested shape is {plain(shape)}.",
        )
    empty = 0 in shape and 0 in before
    known = math.prod([extent for extent in shape if extent >= 0 and (not empty or extent)])
    size = math.prod([extent for extent in before if not empty or extent])
    if not empty and not is_unknown(size) and (size % known if known else size) != 0:
        raise invalid_for(
            "Reshape",
            f"Input to reshape is a tensor with {size} values, but the requested shape requires a multiple of {known}\n"
            f"{plain(shape)} has no whole number in the place of -1.",
        )
    return tuple([(size // known if known else 0) if extent == -1 else extent for extent in shape])


MANY_AXES = 254  # TensorFlow's limit on the number of axes


@public
def reshape(tensor, shape, name=None) -> Tensor:
    """Return the elements of `tensor`, in row-major order, in shape `shape`; one extent may be -1 and follows from the rest.

    Any dtype, which is kept. InvalidArgumentError if the number of elements differs.

    >>> tf.reshape([[1, 2], [3, 4]], [-1]).numpy()
    array([1, 2, 3, 4], dtype=int32)
    """
    x = as_tensor(tensor)
    wanted = static_list(shape, "shape")
    if len(wanted) >= MANY_AXES:
        raise invalid(f"too many dimensions: must be < {MANY_AXES}, but received {len(wanted)}")
    if any(extent < 0 for extent in wanted):
        wanted = _resolve(wanted, x.node.aval.shape)
    return emit(_reshape.op, (x.node,), (wanted,))


def _expanded(input, axis):
    if not -input.ndim - 1 <= axis <= input.ndim:
        raise invalid(
            f"Tried to expand dim index {axis} for tensor with {input.ndim} dimensions.\naxis must be in "
            f"[{-input.ndim - 1}, {input.ndim}]."
        )
    axis %= input.ndim + 1
    return aval((*input.shape[:axis], 1, *input.shape[axis:]), input.dtype)


@op("ExpandDims", infer=_expanded, strings=True, **VIEW)
def _expand_dims(input, *, axis):
    return jnp.expand_dims(input, axis)


@gradient(_expand_dims)
def _(dy, input):
    return _reshape(dy, shape=input.node.aval.shape)


@public
def expand_dims(input, axis, name=None) -> Tensor:
    """Return `input` with a new axis of extent 1; `axis` is its position in the result's shape.

    A negative `axis` counts from the end: -1 adds a last axis. InvalidArgumentError if it is out of range.

    >>> tf.expand_dims([1.0, 2.0], axis=0).shape
    TensorShape([1, 2])
    """
    if axis is None:
        raise ValueError("expand_dims needs an axis, received None: give the place of the new axis, 0 for the front.")
    axes = static_list(axis, "axis")
    if len(axes) != 1:
        raise invalid(f"'dim' must be a tensor with a single value: received axis={axis!r}. Call expand_dims once for each axis.")
    return emit(_expand_dims.op, (tensor(input).node,), axes)


def _squeezed(input, axis):
    dropped = set()
    for a in axis or [a for a, extent in enumerate(input.shape) if extent == 1]:
        if not -input.ndim <= a < input.ndim:
            raise invalid(
                f"Tried to squeeze dim index {a} for tensor with {input.ndim} dimensions.\naxis must be in "
                f"[{-input.ndim}, {input.ndim - 1}]."
            )
        if input.shape[a] != 1:
            raise invalid(
                f"Can not squeeze dim[{a % input.ndim}], expected a dimension of 1, got {input.shape[a]}\nThe shape is "
                f"{plain(input.shape)}."
            )
        dropped.add(a % input.ndim)
    return aval(tuple([extent for a, extent in enumerate(input.shape) if a not in dropped]), input.dtype)


@op("Squeeze", infer=_squeezed, strings=True, **VIEW)
def _squeeze(input, *, axis):
    return input.squeeze(tuple(sorted({a % input.ndim for a in axis})) if axis else None)


@gradient(_squeeze)
def _(dy, input):
    return _reshape(dy, shape=input.node.aval.shape)


@public
def squeeze(input, axis=None, name=None) -> Tensor:
    """Return `input` without its axes of extent 1, or without those in `axis`, which must have extent 1.

    InvalidArgumentError for an axis of another extent. Any dtype, which is kept.

    >>> tf.squeeze(tf.zeros([1, 3, 1])).shape
    TensorShape([3])
    """
    return emit(_squeeze.op, (tensor(input).node,), (() if axis is None else static_list(axis, "axis"),))


def _ensured(x, shape):
    expected = TensorShape(shape)
    if not x.tensor_shape.is_compatible_with(expected):
        raise invalid(
            f"Shape of tensor input {plain(x.shape)} is not compatible with expected shape {plain(expected.as_list())}. The "
            f"extents must agree wherever the expected shape has one."
        )
    return x


@op("EnsureShape", infer=_ensured, cheap=True, strings=True, traits="renames")
def _ensure_shape(x, *, shape):
    return x


@gradient(_ensure_shape)
def _(dy):
    return dy


@public
def ensure_shape(x, shape, name=None) -> Tensor:
    """Return `x` after checking that its shape is compatible with `shape`, in which None matches any extent.

    InvalidArgumentError if it is not. In a function the check may run with the function.

    >>> tf.ensure_shape(tf.zeros([2, 3]), [None, 3]).shape
    TensorShape([2, 3])
    """
    stated, x = TensorShape(shape), tensor(x)
    result = _ensure_shape(x, shape=None if stated.rank is None else tuple(stated.as_list()))
    if engine.current_graph() is not None or result.node.aval.open:
        result.set_shape(stated)
    return result


# ---------------------------------------------------------------------------------------------------------------------
# Transpose


def _transposed(x, perm):
    if len(perm) != x.ndim:
        raise invalid(
            f"transpose expects a vector of size {x.ndim}. But input(1) is a vector of size {len(perm)}: perm "
            f"{list(perm)} must name each axis of shape {plain(x.shape)} once."
        )
    for axis in perm:
        if not 0 <= axis < x.ndim:
            raise invalid(f"{axis} is out of range [0 .. {x.ndim}): perm {list(perm)} must name each axis once.")
    for axis in range(x.ndim):
        if axis not in perm:
            raise invalid(f"{axis} is missing from {{{','.join(map(str, perm))}}}.\nperm must name each axis once.")
    return aval(tuple([x.shape[axis] for axis in perm]), x.dtype)


@op(
    "Transpose", infer=_transposed, cheap=True, strings=True, flops=0, default_name="transpose",
    traits="linear keeps_norm hands_on",
)  # fmt: skip
def _transpose(x, *, perm):
    return jnp.transpose(x, perm)


@gradient(_transpose)
def _(dy, *, perm):
    return _transposed_cotangent(dy, inverse(perm))


@op("ConjugateTranspose", infer=_transposed, cheap=True, flops=0)
def _conjugate_transpose(x, *, perm):
    return jnp.conj(jnp.transpose(x, perm))


@gradient(_conjugate_transpose)
def _(dy, *, perm):
    return _conjugate_transpose(dy, perm=inverse(perm))


def inverse(perm):
    """Return the inverse of the permutation `perm`."""
    return tuple(sorted(range(len(perm)), key=perm.__getitem__))


def _transposed_cotangent(dy, perm):
    source = broadcast_source(dy)
    if source is None:
        return _transpose(dy, perm=perm)
    return _broadcast_to(_transpose(source, perm=perm), shape=tuple([extents_of(dy)[axis] for axis in perm]))


@public
def transpose(a, perm=None, conjugate=False, name="transpose") -> Tensor:
    """Return `a` with its axes in the order `perm` (reversed by default), conjugated if `conjugate` and `a` is complex.

    Extent i of the result is `a.shape[perm[i]]`. InvalidArgumentError if `perm` is no permutation of the axes.

    >>> tf.transpose([[1, 2, 3], [4, 5, 6]]).numpy().tolist()
    [[1, 4], [2, 5], [3, 6]]
    >>> tf.transpose(tf.zeros([2, 3, 4]), perm=[0, 2, 1]).shape
    TensorShape([2, 4, 3])
    """
    x = tensor(a)
    rank = x.ndim
    perm = tuple(range(rank - 1, -1, -1)) if perm is None else static_vector(perm, "perm")
    perm = tuple([axis + rank if -rank <= axis < 0 else axis for axis in perm])
    function = _conjugate_transpose if conjugate and x.dtype.is_complex else _transpose
    return emit(function.op, (x.node,), (perm,))


def filled(shape, value, dtype):
    """Return a broadcast of the Python number `value` (0: empty strings) to `shape`, which stores a single element."""
    if dtype is dtypes.string:
        if value:
            raise TypeError(f"Cannot convert {value!r} to EagerTensor of dtype string: tf.fill takes a string.")
        return host_constant(np.full(shape, b"", object))
    if not shape:
        return host_constant(np.array(value, dtype.numpy))
    return emit(_broadcast_to.op, (engine.number(value, dtype.numpy),), (shape,))


def zeros_as(x):
    """Return zeros in the shape and dtype of the Tensor `x`."""
    return filled(x.node.aval.shape, 0, x.dtype)


@public
def zeros(shape, dtype=dtypes.float32, name=None, layout=None) -> Tensor:
    """Return a Tensor of `shape` filled with 0 (False, an empty string).

    >>> tf.zeros([3]).numpy()
    array([0., 0., 0.], dtype=float32)
    """
    return filled(extents(shape), 0, dtypes.as_dtype(dtype))


@public
def ones(shape, dtype=dtypes.float32, name=None, layout=None) -> Tensor:
    """Return a Tensor of `shape` filled with 1 (True).

    >>> tf.ones([2, 2]).numpy().tolist()
    [[1.0, 1.0], [1.0, 1.0]]
    """
    return filled(extents(shape), 1, dtypes.as_dtype(dtype))
