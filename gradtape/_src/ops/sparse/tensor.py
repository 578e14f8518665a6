"""`SparseTensor`: a tensor of which only some elements are stored, its conversions, products and sums.

Indices are constants; gradients go to the values and to the dense side.
"""

import math
from typing import Any, NamedTuple

import numpy as np
import optree

from gradtape._src.core.base.errors import invalid, invalid_for
from gradtape._src.core.base.public import public
from gradtape._src.core.declarations.define import gradient, op
from gradtape._src.core.declarations.spec import ShapedSpec, TensorSpec
from gradtape._src.core.engine import engine
from gradtape._src.core.platform.arrays import at, jnp
from gradtape._src.core.programs.guards import refusal
from gradtape._src.core.tensors import nest
from gradtape._src.core.tensors.convert import is_tensor, static_list, tensor, tensor as as_tensor
from gradtape._src.core.tensors.tensor import stated_shape
from gradtape._src.core.values import dtypes
from gradtape._src.core.values.aval import aval
from gradtape._src.core.values.dim import exploring, is_unknown
from gradtape._src.core.values.shape import TensorShape
from gradtape._src.ops.array.points import gather_nd
from gradtape._src.ops.array.select import _where, where
from gradtape._src.ops.array.shape import broadcast_to, host_constant, plain, reshape, transpose
from gradtape._src.ops.floats import wide
from gradtape._src.ops.math.arithmetic import multiply, truediv
from gradtape._src.ops.math.compare import not_equal
from gradtape._src.ops.math.complex import conj
from gradtape._src.ops.math.reduction import reduce_sum as sum_over, reduced
from gradtape._src.ops.math.segment import take_rows
from gradtape._src.ops.shapes import NUMERIC, axis_of, require


class SparseTensorValue(NamedTuple):
    """The value of a SparseTensor as NumPy arrays: what a session returns, and what stands for one in functions and datasets."""

    indices: Any
    values: Any
    dense_shape: Any


class SparseTensor:
    """The tensor of shape `dense_shape` that has `values[i]` at `indices[i]`, and 0 elsewhere.

    `indices` is int64 [count, rank], `values` [count] of any dtype, `dense_shape` a list of `rank` extents; ValueError if
    their shapes do not match. Most functions require indices in row-major order without repetition. Besides the functions of
    `tf.sparse` there are the operators `*` and `/` with a dense tensor.

    >>> x = tf.SparseTensor(indices=[[0, 1]], values=[5.0], dense_shape=[2, 2])
    >>> tf.sparse.to_dense(x).numpy().tolist()
    [[0.0, 5.0], [0.0, 0.0]]
    """

    __slots__ = ("_dense_shape", "_indices", "_known_extents", "_values")

    @public
    def __init__(self, indices, values, dense_shape):
        indices, dense_shape = _index_tensor(indices, "indices", 2), _index_tensor(dense_shape, "dense_shape", 1)
        values = _of_rank(tensor(values), 1, "values is a vector, with a value for each of the indices.")
        stored = stated_shape(values.node)
        extents = _extents_of(dense_shape)
        places = stated_shape(indices.node)
        count, rank = places.as_list() if places.rank else (None, None)
        number = stored.as_list()[0] if stored.rank else None
        if extents is not None and rank not in (None, len(extents)):
            raise ValueError(
                f"Dimensions {rank} and {len(extents)} are not compatible: indices of shape {places} name {rank} axes, "
                f"dense_shape is {plain(extents)}."
            )
        if None not in (count, number) and count != number:
            raise ValueError(
                f"Dimensions {count} and {number} are not compatible: indices names {count} places, values has {number} elements."
            )
        self._indices, self._values, self._dense_shape, self._known_extents = indices, values, dense_shape, extents

    @property
    def _extents(self):
        """The extents of the dense shape; NeedsValues in a graph that computes them, so that the caller is deferred."""
        if self._known_extents is None:
            if exploring():
                return static_list(self._dense_shape, "dense_shape")
            raise engine.NeedsValues("the extents of a SparseTensor are not known before the graph runs")
        return self._known_extents

    @classmethod
    @public
    def from_value(cls, sparse_tensor_value):
        """Convert `sparse_tensor_value`, any object with `indices`, `values` and `dense_shape`, to a SparseTensor."""
        if isinstance(sparse_tensor_value, cls):
            return sparse_tensor_value
        if not hasattr(sparse_tensor_value, "dense_shape"):
            raise TypeError(f"Neither a SparseTensor nor SparseTensorValue: {sparse_tensor_value}.")
        return cls(sparse_tensor_value.indices, sparse_tensor_value.values, sparse_tensor_value.dense_shape)

    @property
    def indices(self):
        """The indices of the values, an int64 Tensor [count, rank]."""
        return self._indices

    @property
    def values(self):
        """The stored values, a Tensor [count]."""
        return self._values

    @property
    def dense_shape(self):
        """The dense shape, an int64 Tensor [rank]."""
        return self._dense_shape

    @property
    def shape(self):
        """The dense shape, a TensorShape."""
        if self._known_extents is None:
            places = stated_shape(self._indices.node)
            return TensorShape(None if places[1:].num_elements() is None else [None] * places[1])
        return TensorShape([None if is_unknown(extent) else extent for extent in self._known_extents])

    @property
    def dtype(self):
        """The type of the elements."""
        return self._values.dtype

    def get_shape(self):
        """Return the dense shape, a TensorShape."""
        return self.shape

    @property
    def _type_spec(self):
        return SparseTensorSpec(self.shape, self.dtype)

    @public
    def with_values(self, new_values):
        """Return a SparseTensor with other values at the same indices."""
        return SparseTensor(self._indices, new_values, self._dense_shape)

    @public
    def __mul__(self, other):
        return self._by(multiply, other)

    @public
    def __rmul__(self, other):
        return self * other

    @public
    def __truediv__(self, other):
        return self._by(truediv, other)

    def _by(self, function, other):
        if isinstance(other, SparseTensor):
            raise TypeError(
                "unsupported operand type(s): 'SparseTensor' and 'SparseTensor'. Make one of them dense with tf.sparse.to_dense."
            )
        other = tensor(other, None if is_tensor(other) else self.dtype)
        if other.ndim:
            other = gather_nd(broadcast_to(other, self._extents), self._indices)
        return self.with_values(function(self._values, other))

    def __repr__(self):
        return f"SparseTensor(indices={self._indices!s}, values={self._values!s}, dense_shape={self._dense_shape!s})"


class SparseTensorSpec(ShapedSpec):
    """The spec of a SparseTensor: its shape and dtype.

    >>> print(tf.SparseTensorSpec([2, None], tf.int32).is_compatible_with(tf.sparse.from_dense([[0, 1], [2, 0]])))
    True
    """

    __slots__ = ()

    @public
    def __init__(self, shape=None, dtype=dtypes.float32):
        self._shape, self._dtype = TensorShape(shape), dtypes.as_dtype(dtype)

    @classmethod
    @public
    def from_value(cls, value):
        """Return the spec of a SparseTensor; TypeError for other values."""
        if not isinstance(value, SparseTensor):
            raise TypeError("Expected SparseTensor or SparseTensorValue")
        return cls(value.shape, value.dtype)

    @property
    def value_type(self):
        """The class SparseTensor."""
        return SparseTensor

    def _serialize(self):
        return self._shape, self._dtype


def _components(sparse):
    return [sparse._indices, sparse._values, sparse._dense_shape], sparse._known_extents


def _extents_of(dense_shape):
    """Convert `dense_shape` to extents; None in a graph that computes them when it runs."""
    try:
        return static_list(dense_shape, "dense_shape")
    except engine.NeedsValues:
        if engine.current_graph() is None:
            raise
        return None


def _assembled(extents, parts):
    """Create a SparseTensor from other components. In a function its extents are fixed by the signature."""
    if isinstance(parts[0], TensorSpec):  # the signature of a function is displayed
        rank = parts[0].shape[1] if parts[0].shape.rank else None
        return SparseTensorSpec(extents or (None if rank is None else [None] * rank), parts[1].dtype)
    made = object.__new__(SparseTensor)
    made._indices, made._values, made._dense_shape = parts
    if is_tensor(made._dense_shape):
        try:
            extents = _extents_of(made._dense_shape)
        except (engine.NeedsValues, TypeError):  # a symbol, inside and outside of its function
            if extents is None or any(map(is_unknown, extents)):
                extents = None
            else:
                made._dense_shape = host_constant(np.array(extents, np.int64))
    made._known_extents = extents
    return made


def without_extents(sparse):
    """Return the same SparseTensor with extents that are known only when a graph runs."""
    made = _assembled(None, _components(sparse)[0])
    made._known_extents = None
    return made


def _parts_of_spec(spec):
    rank = spec.shape.rank
    shapes = ([None, rank], "int64"), ([None], spec.dtype), ([rank], "int64")
    return [TensorSpec(shape, dtype) for shape, dtype in shapes], spec


def _from_parts(spec, parts):
    """Create the SparseTensor from its parts, or return the spec where the parts are specs."""
    if isinstance(parts[0], TensorSpec):
        return spec
    return _assembled(tuple(spec.shape.as_list()) if spec.shape.is_fully_defined() else None, parts)


# optree's signature asks for a Collection, its documentation for any class.
optree.register_pytree_node(SparseTensor, _components, _assembled, namespace=nest.EXPANDED)  # type: ignore[arg-type]
optree.register_pytree_node(SparseTensorSpec, _parts_of_spec, _from_parts, namespace=nest.EXPANDED)  # type: ignore[arg-type]


def _index_tensor(value, what, rank):
    try:
        x = tensor(value, dtypes.int64)
    except ValueError as error:
        raise ValueError(f"{what}: {error}") from None
    return _of_rank(x, rank, f"{what} is a {'matrix' if rank == 2 else 'vector'}.")


def _of_rank(x, rank, advice):
    """Return a tensor whose rank is known from now on, also in a graph that does not know its shape; ValueError for another."""
    shape = stated_shape(x.node)
    if not shape.is_compatible_with([None] * rank):
        raise ValueError(f"Shape {shape} must have rank {rank}: {advice}")
    if shape.rank is None:
        x.set_shape([None] * rank)
    return x


def required(value, what="Input"):
    """Return a SparseTensor, or the one of a SparseTensorValue; TypeError for anything else."""
    if type(value) is SparseTensorValue:
        return SparseTensor.from_value(value)
    if not isinstance(value, SparseTensor):
        raise TypeError(f"{what} must be a SparseTensor. Received {type(value).__name__}: tf.sparse.from_dense makes one.")
    return value


REPEATED = "repeated. Add up the values of one place first, or give validate_indices=False."
UNSORTED = (
    "out of order. Many sparse ops require sorted indices. Sort them, and the values with them, in row-major order, or give "
    "validate_indices=False."
)


def _first(wrong, indices, behind=0):
    i = np.flatnonzero(wrong)[0] + behind
    return f"indices[{i}] = {plain(indices[i])}"


def _flat(indices, shape):
    """Convert indices to numbers in row-major order."""
    steps = [math.prod(shape[axis + 1 :]) for axis in range(len(shape))]
    return (indices * np.array(steps, np.int64)).sum(axis=1)


def _misplaced(indices, shape, ordered=False):
    """Refuse indices that are out of bounds or, if they are to be `ordered`, out of order or repeated."""
    outside = ((indices < 0) | (indices >= np.array(shape, np.int64))).any(axis=1)
    yield outside, lambda: f"{_first(outside, indices)} is out of bounds: need 0 <= index < {plain(shape)}"
    if ordered:
        flat = _flat(indices, shape)
        step = flat[1:] - flat[:-1]
        yield step <= 0, lambda: f"{_first(step <= 0, indices, behind=1)} is {UNSORTED if step[step <= 0][0] else REPEATED}"


def inside(indices, shape, type, ordered=False):
    """Return the array `indices`; InvalidArgumentError of the op `type` for one outside of `shape`, or out of order."""
    if message := refusal(_misplaced(indices, shape, ordered)):
        raise invalid_for(type, message)
    return indices


# ---------------------------------------------------------------------------------------------------------------------
# Conversion to and from dense tensors


def _dense_aval(sparse_indices, sparse_values, default_value, output_shape, validate_indices):
    return aval(output_shape, sparse_values.dtype)


@op(
    "SparseToDense", infer=_dense_aval, strings=True, saves="sparse_indices", mixed=True, flops=0,
    refuses=lambda sparse_indices, output_shape, validate_indices: _misplaced(sparse_indices, output_shape, validate_indices),
)  # fmt: skip
def _sparse_to_dense(sparse_indices, sparse_values, default_value, *, output_shape, validate_indices):
    dense = jnp.broadcast_to(default_value, output_shape)
    if not output_shape:
        return sparse_values[-1] if sparse_values.size else dense
    return at(dense)[tuple(sparse_indices.T)].set(sparse_values, mode="drop", wrap_negative_indices=False)


@gradient(_sparse_to_dense)
def _(dy, sparse_indices, needs_default_value, *, output_shape):
    flat = flat_places(sparse_indices, output_shape)
    to_values = take_rows(reshape(dy, [-1]), flat)
    return None, to_values, sum_over(dy) - sum_over(to_values) if needs_default_value else None


def flat_places(indices, shape, axes=None):
    """Return the row-major numbers of elements within the axes `axes` (all by default) of `shape`: int64 [count]."""
    strides = [0] * len(shape)
    stride = 1
    for axis in reversed(range(len(shape)) if axes is None else axes):
        strides[axis] = stride
        stride *= shape[axis]
    return sum_over(indices * host_constant(np.array(strides, np.int64)), 1)


@public
def to_dense(sp_input, default_value=None, validate_indices=True, name=None):
    """Convert `sp_input` to a Tensor, with `default_value` (0) where nothing is stored.

    InvalidArgumentError for indices out of bounds and, if `validate_indices`, for indices out of order or repeated.

    >>> x = tf.SparseTensor(indices=[[0, 1]], values=[5.0], dense_shape=[2, 2])
    >>> tf.sparse.to_dense(x).numpy().tolist()
    [[0.0, 5.0], [0.0, 0.0]]
    """
    x = required(sp_input)
    nothing = {"bool": False, "string": ""}.get(x.dtype.name, 0)
    default = tensor(nothing if default_value is None else default_value, None if is_tensor(default_value) else x.dtype)
    if default.ndim:
        raise invalid_for("SparseToDense", f"default_value should be a scalar, received shape {default.shape}.")
    if default.dtype != x.dtype:
        raise invalid_for(
            "SparseToDense",
            f"default_value has dtype {default.dtype.name}, the values have {x.dtype.name}. Use tf.cast.",
        )
    return _sparse_to_dense(x.indices, x.values, default, output_shape=x._extents, validate_indices=bool(validate_indices))


@public
def from_dense(tensor, name=None):
    """Convert `tensor`, of at least one axis, to a SparseTensor of its elements that are not 0 (strings: not empty).

    >>> tf.sparse.from_dense([[0.0, 5.0], [0.0, 0.0]]).indices.numpy().tolist()
    [[0, 1]]
    """
    x = as_tensor(tensor)
    if not x.ndim:
        raise invalid_for(_where.op.type, "from_dense takes a tensor with at least one axis, received a scalar.")
    nothing = {"bool": False, "string": ""}.get(x.dtype.name, 0)
    places = where(not_equal(x, nothing))  # in a graph `!=` is identity of tensors
    return SparseTensor(places, gather_nd(x, places), list(x.node.aval.shape))


# ---------------------------------------------------------------------------------------------------------------------
# Products


def _sides(a_shape, b_shape, adjoint_a, adjoint_b):
    """Return `(rows, inner extent, inner extent of b, columns)` of a product."""
    return (*(reversed(a_shape) if adjoint_a else a_shape), *(reversed(b_shape) if adjoint_b else b_shape))


def _product_aval(a_indices, a_values, b, a_shape, adjoint_a, adjoint_b):
    require(a_values, NUMERIC)
    if a_values.dtype is not b.dtype:
        raise invalid(
            f"cannot compute SparseTensorDenseMatMul as input #3(zero-based) was expected to be a {a_values.type.name} tensor "
            f"but is a {b.type.name} tensor: use tf.cast to bring both to one dtype."
        )
    if len(a_shape) != 2:
        raise invalid(f"Tensor 'a_shape' must have 2 elements: the sparse side has shape {plain(a_shape)}, it is no matrix.")
    if b.ndim != 2:
        raise invalid(f"Tensor 'b' is not a matrix: it has shape {plain(b.shape)}. Use tf.expand_dims for a vector.")
    rows, inner, other, columns = _sides(a_shape, b.shape, adjoint_a, adjoint_b)
    if inner != other and is_unknown(inner) == is_unknown(other):
        raise invalid(
            f"Cannot multiply A and B because inner dimension does not match: {inner} vs. {other}. Did you forget a transpose? "
            f"Dimensions of A: {plain(a_shape)}. Dimensions of B: {plain(b.shape)}"
        )
    return aval((rows, columns), b.dtype)


@op(
    "SparseTensorDenseMatMul",
    infer=_product_aval,
    saves="a_indices a_values b",
    mixed=True,
    refuses=lambda a_indices, a_shape: _misplaced(a_indices, a_shape),
)
def _sparse_mat_mul(a_indices, a_values, b, *, a_shape, adjoint_a, adjoint_b):
    row, column = reversed(a_indices.T) if adjoint_a else a_indices.T
    values = wide(jnp.conj(a_values) if adjoint_a else a_values)
    b = wide(jnp.conj(b.T) if adjoint_b else b)
    rows = _sides(a_shape, b.shape, adjoint_a, False)[0]
    taken = at(b)[column].get(mode="fill", fill_value=0, wrap_negative_indices=False)
    result = jnp.zeros((rows, b.shape[1]), b.dtype)
    result = at(result)[row].add(values[:, None] * taken, mode="drop", wrap_negative_indices=False)
    return result.astype(a_values.dtype)


@gradient(_sparse_mat_mul)
def _(dy, a_indices, a_values, b, needs_a_values, needs_b, *, a_shape, adjoint_a, adjoint_b):
    dx = db = None
    if needs_a_values:
        row, column = (a_indices[:, 1], a_indices[:, 0]) if adjoint_a else (a_indices[:, 0], a_indices[:, 1])
        dx = sum_over(take_rows(dy, row) * conj(take_rows(_adjoint(b) if adjoint_b else b, column)), 1)
        dx = conj(dx) if adjoint_a else dx
    if needs_b:
        db = _sparse_mat_mul(a_indices, a_values, dy, a_shape=a_shape, adjoint_a=not adjoint_a, adjoint_b=False)
        db = _adjoint(db) if adjoint_b else db
    return None, dx, db


def _adjoint(x):
    return transpose(x, conjugate=True)


@public
def sparse_dense_matmul(sp_a, b, adjoint_a=False, adjoint_b=False, name=None):
    """Return the dense product of two matrices of which one is a SparseTensor; `adjoint_…` takes conjugate transposes first.

    Values with the same index are added, and indices may be in any order. Gradients go to the values and to the dense side.

    >>> tf.sparse.sparse_dense_matmul(tf.sparse.from_dense([[0.0, 5.0]]), [[1.0], [2.0]]).numpy().tolist()
    [[10.0]]
    """
    if isinstance(b, SparseTensor):
        if isinstance(sp_a, SparseTensor):
            raise TypeError("One side must be dense: make one of them dense with tf.sparse.to_dense.")
        return _adjoint(sparse_dense_matmul(b, sp_a, adjoint_a=not adjoint_b, adjoint_b=not adjoint_a))
    a = required(sp_a)
    return _sparse_mat_mul(
        a.indices, a.values, tensor(b), a_shape=a._extents, adjoint_a=bool(adjoint_a), adjoint_b=bool(adjoint_b)
    )


# ---------------------------------------------------------------------------------------------------------------------
# Sums


def _kept(shape, axis):
    return [a for a in range(len(shape)) if a not in axis]


def _sum_aval(input_indices, input_values, input_shape, reduction_axes, keep_dims):
    require(input_values, NUMERIC)
    return aval(reduced(input_shape, reduction_axes, keep_dims), input_values.dtype)


@op(
    "SparseReduceSum",
    infer=_sum_aval,
    saves="input_indices",
    mixed=True,
    refuses=lambda input_indices, input_shape: _misplaced(input_indices, input_shape),
)
def _sparse_sum(input_indices, input_values, *, input_shape, reduction_axes, keep_dims):
    kept = _kept(input_shape, reduction_axes)
    values, shape = wide(input_values), [input_shape[axis] for axis in kept]
    if kept:
        total = jnp.zeros(shape, values.dtype)
        places = tuple([input_indices[:, axis] for axis in kept])
        total = at(total)[places].add(values, mode="drop", wrap_negative_indices=False)
    else:
        total = jnp.sum(values, dtype=values.dtype)
    if keep_dims:
        total = jnp.expand_dims(total, reduction_axes)
    return total.astype(input_values.dtype)


@gradient(_sparse_sum)
def _(dy, input_indices, *, input_shape, reduction_axes):
    places = flat_places(input_indices, input_shape, _kept(input_shape, reduction_axes))
    return None, take_rows(reshape(dy, [-1]), places)


@public
def reduce_sum(sp_input, axis=None, keepdims=None, output_is_sparse=False, name=None):
    """Sum the elements of `sp_input` over `axis` (all by default) to a dense tensor. Any numeric dtype.

    A SparseTensor as result (`output_is_sparse`) is not implemented.

    >>> tf.sparse.reduce_sum(tf.sparse.from_dense([[0.0, 5.0], [1.0, 2.0]]), axis=1).numpy()
    array([5., 3.], dtype=float32)
    """
    x = required(sp_input)
    if output_is_sparse:
        raise NotImplementedError(
            "gradtape has no sparse sums: give output_is_sparse=False, and tf.sparse.from_dense makes the result sparse."
        )
    rank = len(x._extents)
    axes = range(rank) if axis is None else static_list(axis, "axis")
    axes = tuple(sorted({axis_of(a, rank) for a in axes}))
    return _sparse_sum(x.indices, x.values, input_shape=x._extents, reduction_axes=axes, keep_dims=bool(keepdims))
