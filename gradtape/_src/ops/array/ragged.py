"""`RaggedTensor`: rows of different lengths, one behind the other, and where each of them ends.

The lengths are constants, as the places of a SparseTensor are: gradients go to the values.
"""

import operator
from itertools import accumulate
from typing import Any

import numpy as np

from gradtape._src.core import dtypes
from gradtape._src.core.convert import tensor
from gradtape._src.core.errors import UnimplementedError, invalid, public
from gradtape._src.core.shape import TensorShape
from gradtape._src.core.tensor import Tensor, to_numpy
from gradtape._src.ops.array.gather import gather
from gradtape._src.ops.array.joining import concat
from gradtape._src.ops.array.shape import broadcast_to, host_constant, reshape, zeros


class RaggedTensor:
    """Rows of different lengths: row i is `values[row_splits[i]:row_splits[i + 1]]`. `values` is a Tensor, or ragged itself.

    It is made by `tf.ragged.constant`, `from_row_splits` and the like, and `tf.strings.split`, in eager code. Functions of
    tensors take `to_tensor()`, or `flat_values`, whose results `with_flat_values` puts into rows again.

    >>> rows = tf.ragged.constant([[1, 2, 3], [4]])
    >>> rows.to_tensor().numpy().tolist()
    [[1, 2, 3], [4, 0, 0]]
    """

    __slots__ = ("_splits", "_values")
    _splits: np.ndarray
    _values: Any

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
        """Return the rows that begin where the one before ends: row i is `values[row_splits[i]:row_splits[i + 1]]`."""
        return _made(values, _checked(row_splits, "from_row_splits"), "from_row_splits")

    @classmethod
    @public
    def from_row_lengths(cls, values, row_lengths, name=None, validate=True):
        """Return the rows of these lengths."""
        lengths = _integers(row_lengths)
        splits = np.array([0, *accumulate(lengths.tolist())], lengths.dtype)
        return _made(values, _checked(splits, "from_row_lengths"), "from_row_lengths")

    @classmethod
    @public
    def from_row_starts(cls, values, row_starts, name=None, validate=True):
        """Return the rows that begin at `row_starts`; the last one ends with the values."""
        starts, values = _integers(row_starts), _values_of(values)
        splits = np.append(starts, starts.dtype.type(values.shape[0]))
        return _made(values, _checked(splits, "from_row_starts"), "from_row_starts")

    @classmethod
    @public
    def from_row_limits(cls, values, row_limits, name=None, validate=True):
        """Return the rows that end before `row_limits`; the first one begins with the values."""
        limits = _integers(row_limits)
        splits = np.concatenate([np.zeros(1, limits.dtype), limits])
        return _made(values, _checked(splits, "from_row_limits"), "from_row_limits")

    @classmethod
    @public
    def from_value_rowids(cls, values, value_rowids, nrows=None, name=None, validate=True):
        """Return the rows to which `value_rowids`, which must not decrease, assigns the values; `nrows` of them, or up to the
        last.
        """
        ids = _integers(value_rowids)
        count = int(ids[-1]) + 1 if nrows is None and ids.size else int(nrows or 0)
        if ids.size and (ids[0] < 0 or np.any(np.diff(ids) < 0) or ids[-1] >= count):
            raise invalid(
                f"Arguments to from_value_rowids do not form a valid RowPartition: {ids.tolist()} must be sorted, and lie in "
                f"[0, {count})."
            )
        lengths = np.bincount(ids, minlength=count).astype(ids.dtype)
        return cls.from_row_lengths(values, lengths)

    @classmethod
    @public
    def from_nested_row_splits(cls, flat_values, nested_row_splits, name=None, validate=True):
        """Create rows of rows: the splits of the outermost axis come first."""
        for splits in reversed(nested_row_splits):
            flat_values = cls.from_row_splits(flat_values, splits)
        return flat_values

    @classmethod
    @public
    def from_nested_row_lengths(cls, flat_values, nested_row_lengths, name=None, validate=True):
        """Create rows of rows: the lengths along the outermost axis come first."""
        for lengths in reversed(nested_row_lengths):
            flat_values = cls.from_row_lengths(flat_values, lengths)
        return flat_values

    # -- what it is

    @property
    def values(self):
        """The rows, one behind the other."""
        return self._values

    @property
    def flat_values(self):
        """The innermost values, a Tensor."""
        return self._values.flat_values if isinstance(self._values, RaggedTensor) else self._values

    @property
    def row_splits(self):
        """The bounds of the rows in `values`, an integer Tensor [rows + 1]."""
        return host_constant(self._splits)

    @property
    def nested_row_splits(self):
        """The `row_splits` of all ragged axes, the outermost first."""
        inner = self._values.nested_row_splits if isinstance(self._values, RaggedTensor) else ()
        return (self.row_splits, *inner)

    @property
    def ragged_rank(self):
        """The number of ragged axes."""
        return 1 + (self._values.ragged_rank if isinstance(self._values, RaggedTensor) else 0)

    @property
    def dtype(self):
        """The type of the elements."""
        return self.flat_values.dtype

    @property
    def shape(self):
        """The shape, a TensorShape with None for ragged axes."""
        return TensorShape([len(self._splits) - 1, None, *self._values.shape[1:]])

    @property
    def uniform_row_length(self):
        """None: no length of rows is stated."""
        return None

    def get_shape(self):
        """Return the shape, a TensorShape with None for ragged axes."""
        return self.shape

    @public
    def nrows(self, out_type=None, name=None):
        """Return the number of rows, an integer Tensor."""
        return self._counted(len(self._splits) - 1, out_type)

    @public
    def row_lengths(self, axis=1, name=None):
        """Return the lengths along `axis`: a Tensor for the first ragged axis, ragged for the next."""
        if axis == 1:
            return host_constant(np.diff(self._splits))
        if axis < 1 or not isinstance(self._values, RaggedTensor):
            raise ValueError(f"axis={axis} is out of bounds: a ragged axis is expected, from 1 to {self.ragged_rank}.")
        return self.with_values(self._values.row_lengths(axis - 1))

    @public
    def nested_row_lengths(self, name=None):
        """Return the lengths of the rows of all ragged axes, the outermost first."""
        inner = self._values.nested_row_lengths() if isinstance(self._values, RaggedTensor) else ()
        return (self.row_lengths(), *inner)

    @public
    def row_starts(self, name=None):
        """Return the start of each row in `values`."""
        return host_constant(self._splits[:-1])

    @public
    def row_limits(self, name=None):
        """Return the end of each row in `values`."""
        return host_constant(self._splits[1:])

    @public
    def value_rowids(self, name=None):
        """Return the row of each of the `values`."""
        return host_constant(np.repeat(np.arange(len(self._splits) - 1, dtype=self._splits.dtype), np.diff(self._splits)))

    @public
    def bounding_shape(self, axis=None, name=None, out_type=None):
        """Return the shape of `to_tensor()`: along ragged axes the length of the longest row. Of one or several axes, if asked
        for.
        """
        extents = np.array(_places(self).shape + tuple(self.flat_values.shape[1:]))
        return self._counted(extents if axis is None else extents[to_numpy(tensor(axis).node)], out_type)

    def _counted(self, number, out_type):
        dtype = self._splits.dtype if out_type is None else dtypes.as_dtype(out_type).numpy
        return host_constant(np.asarray(number, dtype))

    # -- the same rows, otherwise

    @public
    def with_values(self, new_values):
        """Return rows of the same lengths with other values."""
        return _made(new_values, self._splits, "with_values")

    @public
    def with_flat_values(self, new_values):
        """Return the same nest of rows with other innermost values."""
        nested = isinstance(self._values, RaggedTensor)
        return self.with_values(self._values.with_flat_values(new_values) if nested else new_values)

    @public
    def to_tensor(self, default_value=None, name=None, shape=None):
        """Return a Tensor in which shorter rows are filled up with `default_value`, or zeros. `shape` states extents."""
        values = self.flat_values
        inner, count = tuple(values.shape[1:]), values.shape[0]
        wanted = [None] * self.shape.rank if shape is None else TensorShape(shape).as_list()
        places = _places(self, wanted)
        filling = zeros([1, *inner], values.dtype) if default_value is None else tensor(default_value, values.dtype.numpy)
        rows = concat([values, broadcast_to(filling, [1, *inner])], 0)
        return gather(rows, np.where(places < 0, count, places))

    @public
    def to_list(self):
        """Return the rows as nested Python lists."""
        values = self._values.to_list() if isinstance(self._values, RaggedTensor) else self._values.numpy().tolist()
        return [values[start:end] for start, end in self._bounds()]

    @public
    def numpy(self):
        """Return the rows as NumPy arrays: an array of them, or one array where all have one length."""
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
        return list(zip(self._splits[:-1].tolist(), self._splits[1:].tolist(), strict=True))

    # -- rows

    @public
    def __getitem__(self, key):
        keys = key if isinstance(key, tuple) else (key,)
        if keys and keys[0] is Ellipsis:
            keys = (slice(None),) * (self.shape.rank - len(keys) + 1) + keys[1:]
        if not keys:
            return self
        first, *rest = keys
        if first is None or Ellipsis in rest or None in rest:
            raise UnimplementedError(None, None, f"A RaggedTensor takes indices and slices, an ellipsis first; got {key!r}.")
        bounds = self._bounds()
        if not isinstance(first, slice):
            row = operator.index(first)
            if not -len(bounds) <= row < len(bounds):
                raise IndexError(f"Row key {row} out of bounds")
            start, end = bounds[row]
            found = self._values[start:end]
            return found[tuple(rest)] if rest else found
        chosen = [range(*bounds[i]) for i in range(*_bare(first).indices(len(bounds)))]
        if rest:
            if not isinstance(rest[0], slice):
                raise ValueError("Cannot index into an inner ragged dimension.")
            chosen = [row[_bare(rest[0])] for row in chosen]
        rows = RaggedTensor.from_row_lengths(_taken(self._values, chosen), np.array(list(map(len, chosen)), self._splits.dtype))
        return rows.with_values(rows.values[(slice(None), *rest[1:])]) if rest[1:] else rows

    def __iter__(self):
        return (self[i] for i in range(len(self._splits) - 1))

    @public
    def __bool__(self):
        raise TypeError("RaggedTensor may not be used as a boolean.")

    @public
    def __hash__(self):
        raise TypeError("RaggedTensor is unhashable.")

    @public
    def __array__(self, dtype=None, copy=None):
        raise UnimplementedError(
            None,
            None,
            "A RaggedTensor was given to a function of tensors. Take to_tensor(), or flat_values, whose results with_flat_values "
            "puts into rows again.",
        )

    def __repr__(self):
        with np.printoptions(formatter={"all": _text}):
            return f"<tf.RaggedTensor {_text(self.numpy())}>"


def _refused(self, other):
    return self.__array__()


for _name in ("add", "sub", "mul", "truediv", "floordiv", "mod", "pow", "matmul"):
    setattr(RaggedTensor, f"__{_name}__", public(_refused))
    setattr(RaggedTensor, f"__r{_name}__", public(_refused))
for _name in ("eq", "ne", "lt", "le", "gt", "ge"):
    setattr(RaggedTensor, f"__{_name}__", public(_refused))


def _text(value):
    """Return an array with commas, inside of others, too."""
    if not isinstance(value, np.ndarray):
        return str(value)
    return np.array2string(value, separator=", ") if value.size else repr(value.tolist())


# ---------------------------------------------------------------------------------------------------------------------
# Rows and places


def _values_of(values):
    return values if isinstance(values, RaggedTensor) else tensor(values)


def _integers(values):
    """Convert splits, lengths or rows to an int64 vector, or int32 where a tensor or array has that dtype."""
    stated = isinstance(values, (Tensor, np.ndarray))
    found = to_numpy(tensor(values).node) if stated else np.array(values)
    if not stated and (found.dtype.kind == "i" or not found.size):
        found = found.astype(np.int64)
    if found.ndim != 1 or found.dtype not in (np.int32, np.int64):
        given = f"{found.dtype.name}{list(found.shape)}"
        raise ValueError(f"The rows of a RaggedTensor are stated by an int32 or int64 vector; got {given}.")
    return found


def _checked(row_splits, caller):
    """Return `row_splits` as an array; InvalidArgumentError unless they begin with 0 and do not decrease."""
    splits = _integers(row_splits)
    wrong = f"Arguments to {caller} do not form a valid RaggedTensor"
    if not splits.size or splits[0] != 0:
        raise invalid(f"{wrong}:zero\nThe first split must be 0: {splits.tolist()}.")
    if np.any(np.diff(splits) < 0):
        raise invalid(f"{wrong}:monotonic.\nRows cannot have negative lengths: {splits.tolist()}.")
    return splits


def _made(values, splits, caller):
    """Return a RaggedTensor; InvalidArgumentError unless its rows take all values."""
    values = _values_of(values)
    if not isinstance(values, RaggedTensor) and not values.ndim:
        raise ValueError(f"The values of a RaggedTensor have at least one axis; {caller} got a scalar.")
    if splits[-1] != values.shape[0]:
        raise invalid(
            "Arguments to _from_row_partition do not form a valid RaggedTensor\n"
            f"The rows of {caller} take {splits[-1]} values; there are {values.shape[0]}."
        )
    made = object.__new__(RaggedTensor)
    made._splits, made._values = splits, values
    return made


def _bare(key):
    """Return a slice with Python's integers."""
    return slice(*[None if bound is None else operator.index(bound) for bound in (key.start, key.stop, key.step)])


def _taken(values, rows):
    """Return the `values` at the places that `rows`, of ranges, name."""
    places = np.array([place for row in rows for place in row], np.int64)
    if not isinstance(values, RaggedTensor):
        return gather(values, places)
    bounds = values._bounds()
    chosen = [range(*bounds[place]) for place in places]
    return RaggedTensor.from_row_lengths(_taken(values.values, chosen), np.array(list(map(len, chosen)), values._splits.dtype))


def _places(ragged, wanted=None):
    """Return the place among the innermost values of each element of the dense tensor of extents `wanted`; −1 where there is
    none.
    """
    rows, width, *_ = wanted or (None, None)
    bounds, values = ragged._bounds(), ragged.values
    rows = len(bounds) if rows is None else rows
    width = max((end - start for start, end in bounds), default=0) if width is None else width
    if isinstance(values, RaggedTensor):
        inner = _places(values, [None, *wanted[2:]] if wanted else None)
    else:
        inner = np.arange(values.shape[0])
    found = np.full((rows, width, *inner.shape[1:]), -1, np.int64)
    for row, (start, end) in enumerate(bounds[:rows]):
        found[row, : min(end - start, width)] = inner[start : min(end, start + width)]
    return found


# ---------------------------------------------------------------------------------------------------------------------
# Constants


@public
def map_flat_values(op, *args, **kwargs):
    """Call `op` with the `flat_values` of each RaggedTensor among its arguments, and put the result into rows again.

    Their rows must be the same, else InvalidArgumentError. Without a RaggedTensor it is `op(*args, **kwargs)`.

    >>> tf.ragged.map_flat_values(tf.square, tf.ragged.constant([[1, 2], [3]])).to_list()
    [[1, 4], [9]]
    """
    ragged = [x for x in (*args, *kwargs.values()) if isinstance(x, RaggedTensor)]
    if not ragged:
        return op(*args, **kwargs)
    splits, *others = ([part.numpy().tolist() for part in x.nested_row_splits] for x in ragged)
    if any(other != splits for other in others):
        raise invalid(f"Inputs must have identical ragged splits: received {[splits, *others]}.")

    def flat(x):
        return x.flat_values if isinstance(x, RaggedTensor) else x

    result = op(*map(flat, args), **{name: flat(x) for name, x in kwargs.items()})
    return ragged[0].with_flat_values(result)


@public
def constant(pylist, dtype=None, ragged_rank=None, inner_shape=None, name=None, row_splits_dtype=dtypes.int64):
    """Return a RaggedTensor of a nested list, or a Tensor where it has no axis that may be ragged.

    All axes but the first are ragged, or the next `ragged_rank`. `inner_shape` is the shape of the innermost values.

    >>> tf.ragged.constant([[1, 2], [3]])
    <tf.RaggedTensor [[1, 2], [3]]>
    """
    values = pylist.tolist() if isinstance(pylist, np.ndarray) else pylist
    scalar, deepest = _depths(values)
    if scalar is not None and deepest > scalar:
        raise ValueError(f"Invalid pylist={values!r}: empty list nesting is greater than scalar value nesting")
    inner = None if inner_shape is None else tuple(TensorShape(inner_shape).as_list())
    if ragged_rank is None:
        ragged_rank = max(deepest - 1 - len(inner or ()), 0)
    if not 0 <= ragged_rank <= max(deepest - 1, 0):
        raise ValueError(f"Invalid pylist={values!r}: ragged_rank={ragged_rank} must be between 0 and {max(deepest - 1, 0)}.")
    nested = []
    for _ in range(ragged_rank):
        nested.append(np.array([0, *accumulate(map(len, values))], dtypes.as_dtype(row_splits_dtype).numpy))
        values = [item for row in values for item in row]
    flat = tensor(values) if dtype is None else tensor(values, dtypes.as_dtype(dtype).numpy)
    if inner is not None:
        flat = reshape(flat, [-1, *inner] if ragged_rank else inner)
    return RaggedTensor.from_nested_row_splits(flat, nested) if nested else flat


def _depths(values):
    """Return `(depth of the scalars or None, greatest depth of lists)` of a nest; ValueError where scalars have several."""
    if not isinstance(values, (list, tuple)):
        return 0, 0
    found = [_depths(value) for value in values]
    scalars = {scalar for scalar, _ in found if scalar is not None}
    if len(scalars) > 1:
        raise ValueError("all scalar values must have the same nesting depth")
    return (scalars.pop() + 1 if scalars else None), 1 + max((deepest for _, deepest in found), default=0)
