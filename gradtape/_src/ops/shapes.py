"""Shape and dtype rules that many ops share."""

import numpy as np

from gradtape._src.core.base.errors import invalid, invalid_dtype
from gradtape._src.core.values.aval import aval
from gradtape._src.core.values.dim import is_unknown, now, unknown
from gradtape._src.core.values.dtypes import SPOKEN, as_dtype

BOOL = np.dtype(bool)

# Names of dtypes, for `only`.
FLOATING = ("bfloat16", "float16", "float32", "float64")
COMPLEX = ("complex64", "complex128")
SIGNED = ("int8", "int16", "int32", "int64")
UNSIGNED = ("uint8", "uint16", "uint32", "uint64")
INTEGER = SIGNED + UNSIGNED
REAL = FLOATING + INTEGER
NUMERIC = REAL + COMPLEX
INDEX = ("int32", "int64")


def spoken(name):
    """Return the name of a dtype as it is in TensorFlow's messages: float, double, half."""
    return SPOKEN.get(name, name)


def only(allowed, rule):
    """Limit the aval rule `rule` to inputs whose dtype is named in `allowed`; InvalidArgumentError for others."""

    def infer(*inputs, **attributes):
        require(inputs[0], allowed)
        return rule(*inputs, **attributes)

    return infer


def require(x, allowed, attribute="T"):
    """Raise InvalidArgumentError unless the dtype of the Aval `x` is named in `allowed`."""
    if x.type.name not in allowed:
        raise invalid_dtype(
            f"Value for attr '{attribute}' of {spoken(x.type.name)} is not in the list of allowed values: "
            f"{', '.join(map(spoken, allowed))}\nBring it to one of these with tf.cast."
        )


def one_of(value, allowed, attribute):
    """Return `value`, an attribute with a few allowed words; InvalidArgumentError for others."""
    if value not in allowed:
        words = ", ".join([f'"{word}"' for word in allowed])
        raise invalid(f"Value for attr '{attribute}' of \"{value}\" is not in the list of allowed values: {words}.")
    return value


def named_dtype(dtype, allowed, attribute):
    """Convert an attribute that names a dtype to NumPy's; InvalidArgumentError unless its name is in `allowed`."""
    found = as_dtype(dtype).numpy
    require(aval((), found), allowed, attribute)
    return found


def blank(dtype):
    """Return the element of a NumPy dtype for places without a value: 0, or an empty string."""
    return b"" if dtype.hasobject else 0


def same(x, *others, **attributes):
    """Infer an aval equal to that of the first input."""
    return x


def broadcast_shapes(a, b):
    """Return the shape (a tuple) that two shapes broadcast to; InvalidArgumentError if they are incompatible."""
    if a is b:
        return a
    rank = max(len(a), len(b))
    shape = []
    for m, n in zip((1,) * (rank - len(a)) + a, (1,) * (rank - len(b)) + b, strict=True):
        numbers = type(m) is type(n) is int
        if not numbers and (is_unknown(m) or is_unknown(n)):
            shape.append(_broadcast_unknown(now(m), now(n)))
        elif type(m) is int and m == 1:
            shape.append(n)
        elif type(n) is int and n == 1:
            shape.append(m)
        elif m == n:
            shape.append(m if type(m) is int else n)
        elif m == 1 or n == 1:
            shape.append(n if m == 1 else m)
        else:
            raise invalid(
                f"Incompatible shapes: {plain(a)} vs. {plain(b)}\nDimensions must be equal, but are {m} and {n}, or one of "
                "them 1, counted from the last axis. Reshape, transpose or expand_dims one side."
            )
    return tuple(shape)


def _broadcast_unknown(m, n):
    """Broadcast two extents of which at least one is unknown. The unknown extent equals the other one, or is 1."""
    if not (is_unknown(m) and is_unknown(n)):
        known, other = (n, m) if is_unknown(m) else (m, n)
        return other if known == 1 else known
    return m if m is n else unknown()


def plain(shape):
    """Format a shape for error messages: `[2,3]`."""
    return f"[{','.join(['?' if extent is None else str(extent) for extent in shape])}]"


def broadcast(x, *others, **attributes):
    """Infer the aval of all inputs broadcast against each other; the dtype stays."""
    shape = x.shape
    for y in others:
        shape = broadcast_shapes(shape, y.shape)
    return aval(shape, x.dtype)


def compare(x, y, **attributes):
    """Infer the aval of two inputs broadcast against each other; the result is bool."""
    return aval(broadcast_shapes(x.shape, y.shape), BOOL)


def predicate(x, **attributes):
    """Infer the aval of one input; the result is bool."""
    return aval(x.shape, BOOL)


def axes_of(axis, rank, what="axis"):
    """Convert `axis` (None, int, or ints) to a sorted tuple of axes ≥ 0; InvalidArgumentError outside of [-rank, rank)."""
    if axis is None:
        return tuple(range(rank))
    axes = (axis,) if isinstance(axis, int) else axis
    result = []
    for a in axes:
        if not -rank <= a < rank:
            raise invalid(
                f"Invalid reduction dimension ({a} for input with {rank} dimension(s)\n{what} must be in [{-rank}, {rank - 1}]."
            )
        result.append(a % rank)
    if len(set(result)) != len(result):
        twice = next(a for i, a in enumerate(result) if a in result[:i])
        raise invalid(
            f"Invalid reduction arguments: Axes contains duplicate dimension: {twice}, received {what} {list(axes)}. Name each "
            "axis once."
        )
    return tuple(sorted(result))


def channel_axis(rank, data_format):
    """Return the axis of the channels in images of a `data_format`: 1 for "NC…", else the last. Of a matrix it is the last."""
    return 1 if data_format.startswith("NC") and rank > 2 else rank - 1


def bounded_axis(axis, rank):
    """Convert one axis to an int ≥ 0; ValueError outside of [-rank, rank)."""
    if not -rank <= axis < rank:
        raise ValueError(f"axis={axis} out of bounds: expected {-rank}<=axis<{rank}")
    return axis % rank


def axis_of(axis, rank, what="axis"):
    """Convert one axis to an int ≥ 0; InvalidArgumentError outside of [-rank, rank)."""
    if not -rank <= axis < rank:
        raise invalid(f"{what} {axis} is out of range for a tensor of rank {rank}: it must be in [{-rank}, {rank - 1}].")
    return axis % rank
