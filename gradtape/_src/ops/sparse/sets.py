"""Set operations on the last axis of tensors. The sizes of the results depend on values."""

import operator

import numpy as np

from gradtape._src.core.base.errors import invalid
from gradtape._src.core.base.public import public
from gradtape._src.core.tensors.convert import tensor
from gradtape._src.core.tensors.tensor import extents_of, to_numpy
from gradtape._src.ops.array.shape import host_constant, plain
from gradtape._src.ops.sparse.tensor import SparseTensor, inside, required

KINDS = frozenset("int8 int16 int32 int64 uint8 uint16 string".split())


def _sets_of(x, type, ordered):
    """Return `(shape, sets)`: the shape before the last axis, and the sets by index into it."""
    values = to_numpy((x.values if isinstance(x, SparseTensor) else x).node)
    shape = tuple(extents_of(x))
    if len(shape) < 2:
        raise invalid(f"Shape {plain(shape)} has rank {len(shape)} < 2: the last axis is the set, those before it say which.")
    if isinstance(x, SparseTensor):
        shape = tuple(to_numpy(x.dense_shape.node).tolist())
        places = inside(to_numpy(x.indices.node), shape, type, ordered).tolist()
    else:
        places, values = [*np.ndindex(*shape)], values.reshape(-1)
    sets: dict[tuple[int, ...], set[object]] = {}
    for place, value in zip(places, values.tolist(), strict=True):
        sets.setdefault(tuple(place[:-1]), set()).add(value)
    return shape[:-1], sets


def _operand(x):
    x = x if isinstance(x, SparseTensor) else tensor(x)
    if x.dtype.name not in KINDS:
        raise TypeError(f"A set has elements of dtype {', '.join(sorted(KINDS))}, not {x.dtype.name}.")
    return x


def _combined(function, a, b, ordered):
    """Combine the sets of `a` and `b` at each index by `function`, to a SparseTensor of sorted values."""
    a, b = _operand(a), _operand(b)
    if a.dtype != b.dtype:
        raise TypeError(f"Types don't match, {a.dtype!r} vs {b.dtype!r}.")
    (shape, left), (other, right) = [_sets_of(x, "SetOperation", ordered) for x in (a, b)]
    if shape != other:
        raise invalid(f"Mismatched shapes {plain(shape)} vs {plain(other)}: all axes but the last are the same in both.")
    places, values, longest = [], [], 0
    for place in sorted({*left, *right}):
        found = sorted(function(left.get(place, set()), right.get(place, set())))
        longest = max(longest, len(found))
        values += found
        places += [(*place, i) for i in range(len(found))]
    return SparseTensor(
        host_constant(np.array(places, np.int64).reshape(-1, len(shape) + 1)),
        host_constant(np.array(values, a.dtype.numpy)),
        host_constant(np.array((*shape, longest), np.int64)),
    )


@public
def intersection(a, b, validate_indices=True):
    """Return the intersection of the sets `a` and `b`, Tensors or SparseTensors of integers or strings, as a SparseTensor.

    Each set is a row of the last axis. The shapes before it must agree, else InvalidArgumentError. Elements behind the end of
    a shorter set are not stored.

    >>> tf.sparse.to_dense(tf.sets.intersection([[1, 2, 3], [4, 5, 5]], [[3, 1, 9], [5, 5, 7]])).numpy()
    array([[1, 3],
           [5, 0]], dtype=int32)
    """
    return _combined(operator.and_, a, b, validate_indices)


@public
def union(a, b, validate_indices=True):
    """Return the union of the sets `a` and `b`, as a SparseTensor; see `intersection`.

    >>> tf.sparse.to_dense(tf.sets.union([[1, 2]], [[2, 3]])).numpy().tolist()
    [[1, 2, 3]]
    """
    return _combined(operator.or_, a, b, validate_indices)


@public
def difference(a, b, aminusb=True, validate_indices=True):
    """Return the difference of the sets `a` and `b`, or of `b` and `a` without `aminusb`; see `intersection`.

    >>> tf.sparse.to_dense(tf.sets.difference([[1, 2]], [[2, 3]])).numpy().tolist()
    [[1]]
    """
    return _combined(operator.sub if aminusb else lambda x, y: y - x, a, b, validate_indices)


@public
def size(a: SparseTensor, validate_indices=True):
    """Count the distinct values of each set of the SparseTensor `a`: an int32 Tensor of the shape before its last axis.

    >>> tf.sets.size(tf.sets.union([[1, 2]], [[2, 3]])).numpy()
    array([3], dtype=int32)
    """
    shape, sets = _sets_of(_operand(required(a)), "SetSize", validate_indices)
    counts = np.zeros(shape, np.int32)
    for place, found in sets.items():
        counts[place] = len(found)
    return host_constant(counts)
