"""`RaggedTensor`: rows of different lengths, stored as one tensor of values and the bounds of the rows.

The bounds are constants, as the indices of a SparseTensor are; gradients go to the values. The functions of ragged tensors are
in `ops/ragged`.
"""

from __future__ import annotations

import itertools
import math
from typing import TYPE_CHECKING, Any

import numpy as np
import optree

from gradtape._src.core.base.errors import invalid
from gradtape._src.core.base.public import public
from gradtape._src.core.declarations.spec import ShapedSpec, TensorSpec
from gradtape._src.core.engine import engine
from gradtape._src.core.tensors import nest
from gradtape._src.core.tensors.constants import no_constant
from gradtape._src.core.tensors.convert import static, tensor
from gradtape._src.core.tensors.tensor import Tensor, extents_of, is_symbolic_tensor, stated_shape, to_numpy
from gradtape._src.core.values import dtypes
from gradtape._src.core.values.shape import TensorShape
from gradtape._src.ops.array.creation import range_
from gradtape._src.ops.array.extents import size
from gradtape._src.ops.array.gather import gather
from gradtape._src.ops.array.joining import concat
from gradtape._src.ops.array.ragged_rows import checked, from_rowids, inside, integers, places, rowids, splits_of
from gradtape._src.ops.array.shape import broadcast_to, host_constant, reshape, zeros
from gradtape._src.ops.array.sort import searchsorted


class RaggedTensor:
    """Rows of different lengths: row i is `values[row_splits[i]:row_splits[i + 1]]`. `values` is a Tensor, or ragged itself.

    It is made by `tf.ragged.constant`, `from_row_splits` and the like, and `tf.strings.split`. The functions that take it are
    TensorFlow's: element-wise ones, reductions, joining, gathering and repeating of rows. For others use `to_tensor()`.

    >>> rows = tf.ragged.constant([[1, 2, 3], [4]])
    >>> rows + 1, tf.reduce_sum(rows, axis=1).numpy().tolist()
    (<tf.RaggedTensor [[2, 3, 4], [5]]>, [6, 4])
    """

    __slots__ = ("__weakref__", "_stated", "_uniform", "_values")
    _stated: Any  # the bounds of the rows: an array, or a Tensor without a value
    _uniform: int | None
    _values: Any

    if TYPE_CHECKING:  # attached by `ops/ragged`

        def __getitem__(self, key: Any) -> Any: ...
        @classmethod
        def from_tensor(cls, *args: Any, **kwargs: Any) -> RaggedTensor: ...
        @classmethod
        def from_sparse(cls, *args: Any, **kwargs: Any) -> RaggedTensor: ...
        def to_sparse(self, name: str | None = None) -> Any: ...

    @public
    def __init__(self, values, internal=False, row_partition=None):
        raise ValueError(
            "RaggedTensor constructor is private; please use one of the factory methods instead (e.g., "
            "RaggedTensor.from_row_lengths())"
        )

    # -- making one

    @classmethod
    @public
    def from_row_splits(cls, values, row_splits, name=None, validate=True):
        """Create rows from their bounds: row i is `values[row_splits[i]:row_splits[i + 1]]`."""
        if isinstance(row_splits, Tensor) and engine.symbolic(row_splits.node):
            return _made(values, row_splits, "from_row_splits")
        return _made(values, checked(row_splits, "from_row_splits"), "from_row_splits")

    @classmethod
    @public
    def from_row_lengths(cls, values, row_lengths, name=None, validate=True):
        """Create rows from their lengths."""
        lengths = integers(row_lengths)
        return _made(values, checked(splits_of(lengths, lengths.dtype), "from_row_lengths"), "from_row_lengths")

    @classmethod
    @public
    def from_row_starts(cls, values, row_starts, name=None, validate=True):
        """Create rows that begin at `row_starts`; the last one ends with the values."""
        starts, values = integers(row_starts), _values_of(values)
        splits = np.append(starts, starts.dtype.type(extents_of(values)[0]))
        return _made(values, checked(splits, "from_row_starts"), "from_row_starts")

    @classmethod
    @public
    def from_row_limits(cls, values, row_limits, name=None, validate=True):
        """Create rows that end before `row_limits`; the first one begins with the values."""
        limits = integers(row_limits)
        splits = np.concatenate([np.zeros(1, limits.dtype), limits])
        return _made(values, checked(splits, "from_row_limits"), "from_row_limits")

    @classmethod
    @public
    def from_value_rowids(cls, values, value_rowids, nrows=None, name=None, validate=True):
        """Create rows from the row number of each value, which must not decrease; `nrows` is the last one + 1 by default."""
        nrows = None if nrows is None else static(nrows, "nrows")
        splits = from_rowids(value_rowids, nrows)
        count = _count_of(_values_of(values))
        if isinstance(splits, np.ndarray) and count is not None and splits[-1] != count:
            raise ValueError(f"Shapes ({count},) and ({splits[-1]},) are incompatible: each value has one row number.")
        return _made(values, splits, "from_value_rowids")

    @classmethod
    @public
    def from_uniform_row_length(cls, values, uniform_row_length, nrows=None, validate=True, name=None):
        """Create rows of one length. `nrows`, their number, must be given where the length is 0."""
        values, length = _values_of(values), static(uniform_row_length, "uniform_row_length")
        if length < 0:
            raise invalid(
                f"Arguments to from_uniform_row_length do not form a valid RaggedTensor\nThe length {length} is below 0."
            )
        given = None if nrows is None else static(nrows, "nrows")
        count = _count_of(values)
        rows = given if given is not None else extents_of(values)[0] // length if length else 0
        if count is not None and length * rows != count:
            raise ValueError(f"uniform_row_length={length} times nrows={rows} must equal nvals={count}")
        return _made(values, np.arange(rows + 1, dtype=np.int64) * length, "from_uniform_row_length", uniform=length)

    @classmethod
    @public
    def from_nested_row_splits(cls, flat_values, nested_row_splits, name=None, validate=True):
        """Create nested rows from the splits of each ragged axis, the outermost first."""
        for splits in reversed(nested_row_splits):
            flat_values = cls.from_row_splits(flat_values, splits)
        return flat_values

    @classmethod
    @public
    def from_nested_row_lengths(cls, flat_values, nested_row_lengths, name=None, validate=True):
        """Create nested rows from the lengths along each ragged axis, the outermost first."""
        for lengths in reversed(nested_row_lengths):
            flat_values = cls.from_row_lengths(flat_values, lengths)
        return flat_values

    @classmethod
    @public
    def from_nested_value_rowids(cls, flat_values, nested_value_rowids, nested_nrows=None, name=None, validate=True):
        """Create nested rows from the row numbers along each ragged axis, the outermost first."""
        counts = [None] * len(nested_value_rowids) if nested_nrows is None else list(nested_nrows)
        for ids, nrows in reversed(list(zip(nested_value_rowids, counts, strict=True))):
            flat_values = cls.from_value_rowids(flat_values, ids, nrows)
        return flat_values

    # -- properties

    @property
    def values(self):
        """The values of all rows, concatenated."""
        return self._values

    @property
    def flat_values(self):
        """The innermost values, a Tensor."""
        return self._levels[-1]._values

    @property
    def _splits(self):
        """The bounds of the rows as an array; NeedsValues in a function, where they are a parameter."""
        return self._stated if self._known else to_numpy(self._stated.node)

    @property
    def _known(self):
        """Whether the bounds are an array; in a function they may be a tensor."""
        return isinstance(self._stated, np.ndarray)

    @property
    def _levels(self):
        """The rows of each ragged axis, the outermost first: this RaggedTensor, its values if they are ragged, and so on."""
        levels = [self]
        while isinstance(levels[-1]._values, RaggedTensor):
            levels.append(levels[-1]._values)
        return levels

    @property
    def _nested(self):
        return [level._splits for level in self._levels]

    @property
    def row_splits(self):
        """The bounds of the rows in `values`, an integer Tensor [rows + 1]."""
        return host_constant(self._stated) if self._known else self._stated

    @property
    def nested_row_splits(self):
        """The `row_splits` of all ragged axes, the outermost first."""
        return tuple([level.row_splits for level in self._levels])

    @property
    def ragged_rank(self):
        """The number of ragged axes."""
        return len(self._levels)

    @property
    def dtype(self):
        """The type of the elements."""
        return self.flat_values.dtype

    @property
    def shape(self):
        """The shape, a TensorShape with None for ragged axes."""
        values = self._values
        inner = values.shape if isinstance(values, RaggedTensor) else stated_shape(values.node)
        return TensorShape([self._count, self._uniform, *inner[1:]])

    @property
    def _count(self):
        if self._known:
            return len(self._stated) - 1
        extent = stated_shape(self._stated.node).as_list()[0]
        return None if extent is None else extent - 1

    @property
    def uniform_row_length(self):
        """The common length of all rows, an integer Tensor, if it is stated; else None."""
        return None if self._uniform is None else self._counted(self._uniform, None)

    @property
    def _type_spec(self):
        return RaggedTensorSpec(self.shape, self.dtype, self.ragged_rank, self._row_dtype)

    @property
    def _row_dtype(self):
        return dtypes.as_dtype(self._stated.dtype)

    def get_shape(self):
        """Return the shape, a TensorShape with None for ragged axes."""
        return self.shape

    @public
    def nrows(self, out_type=None, name=None):
        """Return the number of rows, an integer Tensor."""
        if self._count is None:
            return size(self._stated, self._row_dtype if out_type is None else out_type) - 1
        return self._counted(self._count, out_type)

    @public
    def row_lengths(self, axis=1, name=None):
        """Return the lengths along `axis`: a Tensor for the first ragged axis, ragged for the others."""
        if axis == 1:
            return self.row_limits() - self.row_starts()
        if axis < 1 or not isinstance(self._values, RaggedTensor):
            raise ValueError(f"axis={axis} is out of bounds: a ragged axis is expected, from 1 to {self.ragged_rank}.")
        return self.with_values(self._values.row_lengths(axis - 1))

    @public
    def nested_row_lengths(self, name=None):
        """Return the lengths of the rows of all ragged axes, the outermost first."""
        return tuple([level.row_lengths() for level in self._levels])

    @public
    def row_starts(self, name=None):
        """Return the start of each row in `values`."""
        return host_constant(self._stated[:-1]) if self._known else self._stated[:-1]

    @public
    def row_limits(self, name=None):
        """Return the end of each row in `values`."""
        return host_constant(self._stated[1:]) if self._known else self._stated[1:]

    @public
    def value_rowids(self, name=None):
        """Return the row of each of the `values`."""
        if self._known:
            return host_constant(rowids(self._stated))
        places = range_(extents_of(self._values)[0], dtype=self._row_dtype)
        return searchsorted(self._stated, places, "right", self._row_dtype) - 1

    @public
    def nested_value_rowids(self, name=None):
        """Return the rows of the values of all ragged axes, the outermost first."""
        return tuple([level.value_rowids() for level in self._levels])

    @public
    def bounding_shape(self, axis=None, name=None, out_type=None):
        """Return the shape of `to_tensor()`, with the longest row along ragged axes; only its entries at `axis`, if given."""
        widths = [np.diff(splits).max(initial=0) for splits in self._nested]
        extents = np.array([len(self._splits) - 1, *widths, *self.flat_values.shape[1:]])
        return self._counted(extents if axis is None else extents[to_numpy(tensor(axis).node)], out_type)

    def _counted(self, number, out_type):
        dtype = (self._row_dtype if out_type is None else dtypes.as_dtype(out_type)).numpy
        return host_constant(np.asarray(number, dtype))

    # -- the same rows in another form

    @public
    def with_values(self, new_values):
        """Return rows of the same lengths with other values."""
        return _made(new_values, self._stated, "with_values", uniform=self._uniform)

    @public
    def with_flat_values(self, new_values):
        """Return the same nest of rows with other innermost values."""
        for level in reversed(self._levels):
            new_values = level.with_values(new_values)
        return new_values

    @public
    def with_row_splits_dtype(self, dtype):
        """Return the same rows, with bounds of type int32 or int64."""
        wanted = dtypes.as_dtype(dtype)
        if wanted not in (dtypes.int32, dtypes.int64):
            raise ValueError(f"Argument `row_splits` dtype must be int32 or int64. Received {wanted}.")
        values = self.flat_values
        for level in reversed(self._levels):
            values = _made(values, level._splits.astype(wanted.numpy), "with_row_splits_dtype", uniform=level._uniform)
        return values

    @public
    def merge_dims(self, outer_axis, inner_axis):
        """Return the same elements with the axes from `outer_axis` to `inner_axis` merged into one."""
        rank = self.shape.rank
        outer, inner = [axis + rank if axis < 0 else axis for axis in (outer_axis, inner_axis)]
        if not 0 <= outer <= inner < rank:
            raise ValueError(f"Expected outer_axis <= inner_axis of {rank} axes; got {outer_axis} and {inner_axis}.")
        if outer == inner:
            return self
        values, nested = self._values, isinstance(self._values, RaggedTensor)
        if outer > 1:
            inside = values.merge_dims(outer - 1, inner - 1) if nested else merged_axes(values, outer - 1, inner - 1)
            return self.with_values(inside)
        merged = values if inner == 1 else values.merge_dims(0, inner - 1) if nested else merged_axes(values, 0, inner - 1)
        if outer == 0:
            return merged
        bounds, below = self._splits, values
        for _ in range(inner - 1):
            if isinstance(below, RaggedTensor):
                bounds, below = below._splits[bounds], below._values
        count = merged._count if isinstance(merged, RaggedTensor) else extents_of(merged)[0]
        return _made(merged, bounds * (count // max(int(bounds[-1]), 1)), "merge_dims")

    @public
    def to_tensor(self, default_value=None, name=None, shape=None):
        """Return a Tensor whose shorter rows are padded with `default_value` (zeros). `shape` gives extents; None: as needed."""
        values = self.flat_values
        inner, count = tuple(extents_of(values)[1:]), extents_of(values)[0]
        wanted = [None] * self.shape.rank if shape is None else TensorShape(shape).as_list()
        if len(wanted) != self.shape.rank or any(n not in (None, m) for n, m in zip(wanted[::-1], inner[::-1], strict=False)):
            raise invalid(
                f"{shape=} and the shape {self.shape} of the RaggedTensor are incompatible: only rows are padded or cut."
            )
        found = places(self._nested, count, wanted)
        filling = zeros([1, *inner], values.dtype) if default_value is None else tensor(default_value, values.dtype.numpy)
        rows = concat([values, broadcast_to(filling, [1, *inner])], 0)
        return gather(rows, np.where(found < 0, count, found))

    @public
    def to_list(self):
        """Return the rows as nested Python lists."""
        values = self._values.to_list() if isinstance(self._values, RaggedTensor) else self._values.numpy().tolist()
        return [values[start:end] for start, end in self._bounds()]

    @public
    def numpy(self):
        """Return the rows as NumPy arrays: an object array of them, or one array where all have one length."""
        values = self._values.numpy()
        rows = [values[start:end] for start, end in self._bounds()]
        if not rows:
            return np.array([], values.dtype)
        if all(len(row) == len(rows[0]) for row in rows):
            return np.array(rows)
        found = np.empty(len(rows), object)
        found[:] = rows
        return found

    def _bounds(self):
        splits = self._splits.tolist()
        return list(itertools.pairwise(splits))

    def __iter__(self):
        return (self[i] for i in range(len(self._splits) - 1))

    @public
    def __bool__(self):
        raise TypeError("RaggedTensor may not be used as a boolean.")

    @public
    def __hash__(self):
        raise TypeError("RaggedTensor is unhashable.")

    @public
    def __tf_tensor__(self, dtype=None, name=None):
        if engine.tracing():
            raise no_constant(self)
        raise ValueError(
            "TypeError: object of type 'RaggedTensor' has no len()\nA RaggedTensor was given to a function that takes tensors "
            "only. Take to_tensor(), or flat_values, whose results with_flat_values puts into rows again."
        )

    def __repr__(self):
        if any(is_symbolic_tensor(x) for x in (*self.nested_row_splits, self.flat_values)):
            return f"tf.RaggedTensor(values={self._values!r}, row_splits={self.row_splits!r})"
        with np.printoptions(formatter={"all": _text}):
            return f"<tf.RaggedTensor {_text(self.numpy())}>"


def _text(value):
    """Format an array with commas, nested arrays included."""
    if not isinstance(value, np.ndarray):
        return str(value)
    return np.array2string(value, separator=", ") if value.size else repr(value.tolist())


def merged_axes(values, first, last):
    """Merge the axes from `first` to `last` of a tensor into one."""
    shape = list(extents_of(values))
    return reshape(values, [*shape[:first], math.prod(shape[first : last + 1]), *shape[last + 1 :]])


def _values_of(values):
    return values if isinstance(values, RaggedTensor) else tensor(values)


def _count_of(values):
    """Return the number of rows of a tensor, ragged or not; None if it is unknown."""
    if isinstance(values, RaggedTensor):
        return values._count
    return stated_shape(values.node).as_list()[0] if values.ndim else None


def _made(values, splits, caller, uniform=None):
    """Create a RaggedTensor; InvalidArgumentError unless its rows cover all values, as far as they are known."""
    values = _values_of(values)
    if not isinstance(values, RaggedTensor) and not values.ndim:
        raise ValueError(f"The values of a RaggedTensor have at least one axis; {caller} got a scalar.")
    count = _count_of(values)
    if isinstance(splits, np.ndarray) and count is not None and splits[-1] != count:
        raise invalid(
            "Arguments to _from_row_partition do not form a valid RaggedTensor\n"
            f"The rows of {caller} take {splits[-1]} values; there are {count}."
        )
    return _of(splits, values, uniform)


def _of(stated, values, uniform):
    """Create a RaggedTensor from valid parts."""
    made = object.__new__(RaggedTensor)
    made._stated, made._values, made._uniform = stated, values, uniform
    return made


def with_splits(flat_values, nested):
    """Create nested rows of `flat_values` from arrays of valid bounds, the outermost first."""
    for splits in reversed(nested):
        flat_values = _made(flat_values, splits, "with_splits")
    return flat_values


def taken(values, chosen):
    """Gather rows of `values`, ragged or not, at the indices `chosen`, an array."""
    if not isinstance(values, RaggedTensor):
        return gather(values, chosen)
    splits = values._splits
    lengths = np.diff(splits)[chosen]
    inner = inside(splits[:-1][chosen], lengths)
    return _made(taken(values._values, inner), splits_of(lengths, splits.dtype), "taken", uniform=values._uniform)


# ---------------------------------------------------------------------------------------------------------------------
# Functions that take and give them


def _components(ragged):
    return [ragged.flat_values, *ragged.nested_row_splits], tuple([level._uniform for level in ragged._levels])


def _assembled(uniform, parts):
    values, *nested = parts
    if isinstance(values, TensorSpec):  # the signature of a function is displayed
        rows = extents_of(nested[0])[0]
        extents = [None if rows is None else rows - 1, *uniform, *extents_of(values)[1:]]
        return RaggedTensorSpec(extents, values.dtype, len(nested), nested[0].dtype)
    for splits, length in reversed(list(zip(nested, uniform, strict=True))):
        values = _of(splits, values, length)
    return values


# optree's signature asks for a Collection, its documentation for any class.
optree.register_pytree_node(RaggedTensor, _components, _assembled, namespace=nest.EXPANDED)  # type: ignore[arg-type]


class RaggedTensorSpec(ShapedSpec):
    """The spec of a RaggedTensor: its shape, dtype, number of ragged axes (all but the first by default), and the type of its
    bounds.

    >>> tf.RaggedTensorSpec([None, None], tf.int32).is_compatible_with(tf.ragged.constant([[1, 2], [3]]))
    True
    """

    __slots__ = ("_ragged_rank", "_row_splits_dtype")

    @public
    def __init__(
        self, shape=None, dtype=dtypes.float32, ragged_rank=None, row_splits_dtype=dtypes.int64, flat_values_spec=None
    ):  # fmt: skip
        self._shape = TensorShape(shape)
        self._row_splits_dtype = dtypes.as_dtype(row_splits_dtype)
        self._dtype = flat_values_spec.dtype if flat_values_spec is not None else dtypes.as_dtype(dtype)
        rank = self._shape.rank
        if ragged_rank is None:
            if rank is None:
                raise ValueError("Must specify ragged_rank or a shape with a known rank.")
            ragged_rank = rank - 1
        if not isinstance(ragged_rank, int):
            raise TypeError(f"Argument `ragged_rank` must be an int. Received {ragged_rank}.")
        if rank is not None and ragged_rank >= rank:
            raise ValueError(f"Argument `ragged_rank` ({ragged_rank}) must be less than rank ({rank}).")
        self._ragged_rank = ragged_rank

    @classmethod
    @public
    def from_value(cls, value):
        """Return the spec of a RaggedTensor."""
        return value._type_spec

    @property
    def value_type(self):
        """The class RaggedTensor; Tensor where there is no ragged axis."""
        return RaggedTensor if self._ragged_rank else Tensor

    @property
    def ragged_rank(self):
        """The number of ragged axes."""
        return self._ragged_rank

    @property
    def row_splits_dtype(self):
        """The type of the bounds of rows."""
        return self._row_splits_dtype

    @property
    def flat_values_spec(self):
        """None, because the innermost values are a Tensor."""
        return None

    def _serialize(self):
        return self._shape, self._dtype, self._ragged_rank, self._row_splits_dtype


def _parts_of_spec(spec):
    shape, ragged_rank = spec._shape, spec._ragged_rank
    inner = [] if shape.rank is None else shape.as_list()[ragged_rank + 1 :]
    if not ragged_rank:
        return [TensorSpec(shape, spec._dtype)], spec
    rows = None if shape.rank is None or shape[0] is None else shape[0] + 1
    splits = [TensorSpec([extent], spec._row_splits_dtype) for extent in (rows, *[None] * (ragged_rank - 1))]
    return [TensorSpec(None if shape.rank is None else [None, *inner], spec._dtype), *splits], spec


def _from_parts(spec, parts):
    """Create the RaggedTensor from its parts, or return the spec where the parts are specs."""
    if all(isinstance(part, TensorSpec) for part in parts):
        return spec
    if not spec._ragged_rank:
        return parts[0]
    lengths = [None] * spec._ragged_rank if spec._shape.rank is None else spec._shape.as_list()[1 : spec._ragged_rank + 1]
    return _assembled(tuple(lengths), parts)


optree.register_pytree_node(RaggedTensorSpec, _parts_of_spec, _from_parts, namespace=nest.EXPANDED)  # type: ignore[arg-type]
