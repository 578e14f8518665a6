"""`tf.strings`: element-wise functions and joining of strings. They run on the host, on NumPy arrays of bytes."""

import math

import numpy as np

from gradtape._src.core.base.errors import InvalidArgumentError, OutOfRangeError, invalid, invalid_for
from gradtape._src.core.base.public import public
from gradtape._src.core.declarations.define import not_differentiable, op
from gradtape._src.core.programs.op import Op
from gradtape._src.core.tensors import convert
from gradtape._src.core.tensors.convert import is_tensor, settled, static_list, tensor
from gradtape._src.core.tensors.tensor import emit
from gradtape._src.core.values import dtypes
from gradtape._src.core.values.aval import aval
from gradtape._src.ops.array.shape import plain
from gradtape._src.ops.math.reduction import reduced
from gradtape._src.ops.shapes import BOOL, INDEX, broadcast_shapes, one_of, require, same
from gradtape._src.ops.strings.patterns import compiled, replaced, text_of

STRING = dtypes.string.numpy
INT32 = np.dtype(np.int32)
NO_NUMBER = "a string is no number, and has no gradient"


def texts(value, made, position=0):
    """Convert operand number `position` of an op to a node of strings; TypeError or InvalidArgumentError for other dtypes."""
    if not is_tensor(value):
        return tensor(value, dtypes.string).node
    node = convert.node_of(value)
    if node.aval.dtype is not STRING:
        raise convert.mismatch(made if isinstance(made, Op) else made.op, position, dtypes.string, node.aval.type)
    return node


def each(function, *arrays):
    """Apply `function` to the elements of arrays, broadcast against each other; return an array of strings."""
    found = np.frompyfunc(function, len(arrays), 1)(*arrays)
    return found if isinstance(found, np.ndarray) else np.array(found, object)


UNITS = ("BYTE", "UTF8_CHAR")


def _begins(data):
    """Return the offsets at which characters of UTF-8 start."""
    return [place for place, byte in enumerate(data) if byte & 0xC0 != 0x80]


# ---------------------------------------------------------------------------------------------------------------------
# Element by element


@op("StringLength", infer=lambda input, unit: aval(input.shape, INT32), on_host=True)
def _length(input, *, unit):
    return each(len if unit == "BYTE" else lambda data: len(_begins(data)), input).astype(np.int32)


@public
def length(input, unit="BYTE", name=None):
    """Return the length of each string, int32: in bytes, or with `unit="UTF8_CHAR"` in characters.

    >>> tf.strings.length(["ab", "é"]).numpy().tolist()
    [2, 2]
    """
    return emit(_length.op, (texts(input, _length),), (one_of(unit, UNITS, "unit"),))


def _changed(type, of_bytes, of_text):
    @op(type, infer=same, on_host=True)
    def change(input, *, encoding):
        if not encoding:
            return each(of_bytes, input)
        return each(lambda data: of_text(data.decode("utf-8", "replace")).encode(), input)

    return change


_lower, _upper = _changed("StringLower", bytes.lower, str.lower), _changed("StringUpper", bytes.upper, str.upper)


def _encoding(encoding, made):
    if encoding not in ("", "utf-8"):
        raise invalid_for(made.op.type, f"only utf-8 or '' (no encoding) is supported, received {encoding}")
    return (encoding,)


@public
def lower(input, encoding="", name=None):
    """Convert each string to lower case: the letters of ASCII, or with `encoding="utf-8"` those of Unicode.

    >>> tf.strings.lower(["Ab", "C"]).numpy().tolist()
    [b'ab', b'c']
    """
    return emit(_lower.op, (texts(input, _lower),), _encoding(encoding, _lower))


@public
def upper(input, encoding="", name=None):
    """Convert each string to upper case: the letters of ASCII, or with `encoding="utf-8"` those of Unicode.

    >>> tf.strings.upper(["Ab", "c"]).numpy().tolist()
    [b'AB', b'C']
    """
    return emit(_upper.op, (texts(input, _upper),), _encoding(encoding, _upper))


@op("StringStrip", infer=same, on_host=True)
def _strip(input):
    return each(bytes.strip, input)


@public
def strip(input, name=None):
    """Strip the white space at both ends of each string.

    >>> tf.strings.strip([" ab "]).numpy().tolist()
    [b'ab']
    """
    return emit(_strip.op, (texts(input, _strip),))


def _part_aval(input, pos, len, unit):
    require(pos, INDEX)
    if pos.shape != len.shape:
        raise invalid(f"pos and len should have the same shape, got: {plain(pos.shape)} vs. {plain(len.shape)}")
    return aval(broadcast_shapes(input.shape, pos.shape), STRING)


@op("Substr", infer=_part_aval, mixed=True, on_host=True)
def _substr(input, pos, len, *, unit):
    def part(data, start, count):
        begins = [*_begins(data), size(data)] if unit == "UTF8_CHAR" else None
        total = size(data) if begins is None else size(begins) - 1
        if not -total <= start <= total:
            raise InvalidArgumentError.saying(
                f"pos {start} out of range for string {data!r}: it has {total} {'bytes' if begins is None else 'characters'} "
                "[Op:Substr]"
            )
        start = start + total if start < 0 else start
        end = (total if begins is None else start) if count < 0 else min(start + count, total)
        return data[start:end] if begins is None else data[begins[start] : begins[end]]

    return each(part, input, pos, len)


size = len  # where a parameter has TensorFlow's name `len`


@public
def substr(input, pos, len, unit="BYTE", name=None):
    """Return the substring of up to `len` bytes or characters from `pos` on (from the end, if negative) of each string.

    `pos` and `len`, integers of one shape, are broadcast against the strings. A `pos` outside of a string is an
    InvalidArgumentError.

    >>> tf.strings.substr("gradient", 0, 4).numpy()
    b'grad'
    """
    indices = convert.operands(_substr.op, (pos, len), one_by_one=True)
    return emit(_substr.op, (texts(input, _substr), *indices), (one_of(unit, UNITS, "unit"),))


def _pattern(pattern):
    return compiled(text_of(pattern.item()))


def _of_pattern(rule):
    """Return the aval rule of an op on strings, a pattern and an optional rewrite, both scalar."""

    def infer(input, *scalars, **attributes):
        for what, scalar in zip(("Pattern", "Rewrite"), scalars, strict=False):
            if scalar.ndim:
                raise invalid(f"{what} must be scalar, but received {plain(scalar.shape)}")
        return rule(input)

    return infer


@op("RegexReplace", infer=_of_pattern(same), on_host=True)
def _regex_replace(input, pattern, rewrite, *, replace_global):
    known, new = _pattern(pattern), rewrite.item()
    return each(lambda data: replaced(data, known, new, replace_global), input)


@public
def regex_replace(input, pattern, rewrite, replace_global=True, name=None):
    r"""Replace the matches of `pattern` in each string (the first one only, unless `replace_global`) by `rewrite`.

    The syntax is RE2's; in `rewrite`, `\1` to `\9` stand for groups and `\0` for the match.

    >>> tf.strings.regex_replace("Text, with tags.<br />", "<[^>]+>|[[:punct:]]", "").numpy()
    b'Text with tags'
    """
    nodes = [texts(value, _regex_replace, i) for i, value in enumerate((input, pattern, rewrite))]
    return emit(_regex_replace.op, tuple(nodes), (bool(replace_global),))


@op("RegexFullMatch", infer=_of_pattern(lambda input: aval(input.shape, BOOL)), on_host=True)
def _regex_full_match(input, pattern):
    known = _pattern(pattern)
    return each(lambda data: known.fullmatch(text_of(data)) is not None, input).astype(bool)


@public
def regex_full_match(input, pattern, name=None):
    """Return whether the whole of each string matches `pattern`, in RE2's syntax. bool.

    >>> tf.strings.regex_full_match(["a1", "b"], "[a-z][0-9]").numpy()
    array([ True, False])
    """
    return emit(_regex_full_match.op, tuple([texts(v, _regex_full_match, i) for i, v in enumerate((input, pattern))]))


# ---------------------------------------------------------------------------------------------------------------------
# Joining


def _joined_aval(*inputs, separator):
    shape = ()
    for x in inputs:
        if shape and x.shape and x.shape != shape:
            raise invalid(f"Input shapes do not match: {plain(shape)} vs. {plain(x.shape)}")
        shape = shape or x.shape
    return aval(shape, STRING)


@op("StringJoin", infer=_joined_aval, on_host=True)
def _join(*inputs, separator):
    return each(lambda *parts: separator.join(parts), *inputs) if inputs else b""


def separator_of(value):
    """Convert a separator, which is structure, to bytes; TypeError for what is no string."""
    if not isinstance(value, str | bytes):
        raise TypeError(f"A separator must be a string, received {value!r}.")
    return value.encode() if isinstance(value, str) else value


@public
def join(inputs, separator="", name=None):
    """Join the strings of a list of tensors element-wise; the tensors have one shape, or are scalars.

    >>> tf.strings.join(["x", ["a", "b"]], separator="_").numpy().tolist()
    [b'x_a', b'x_b']
    """
    nodes = [texts(value, _join, i) for i, value in enumerate(inputs)]
    return emit(_join.op, tuple(nodes), (separator_of(separator),))


@op("ReduceJoin", infer=lambda inputs, axis, keepdims, **_: aval(reduced(inputs.shape, axis, keepdims), STRING), on_host=True)
def _reduce_join(inputs, *, axis, keepdims, separator):
    if not axis:
        return inputs
    others = [a for a in range(inputs.ndim) if a not in axis]
    rows = inputs.transpose((*others, *reversed(axis)))  # the first of `axis` is joined first
    rows = rows.reshape((*[inputs.shape[a] for a in others], math.prod([inputs.shape[a] for a in axis])))
    result = np.empty(rows.shape[:-1], object)
    for place in np.ndindex(result.shape):
        result[place] = separator.join(rows[place].tolist())
    return np.expand_dims(result, tuple(sorted(axis))) if keepdims else result


@public
def reduce_join(inputs, axis=None, keepdims=False, separator="", name=None):
    """Join the strings along `axis` (all by default), the first axis of a list first.

    >>> tf.strings.reduce_join(["a", "b"]).numpy()
    b'ab'
    """
    node = texts(inputs, _reduce_join)
    rank = node.aval.ndim
    axes = tuple(range(rank - 1, -1, -1)) if axis is None else static_list(axis, "axis")
    for a in axes:
        if not -rank <= a < rank:
            raise OutOfRangeError(
                None, None, f"Invalid reduction dimension {a} for input with {rank} dimension(s) [Op:ReduceJoin]"
            )
    axes = tuple([a % rank for a in axes])
    if len(set(axes)) < len(axes):
        raise invalid_for("ReduceJoin", f"Duplicate reduction dimension in {list(axes)}: name each axis once.")
    return emit(_reduce_join.op, (node,), (axes, bool(keepdims), separator_of(separator)))


def _segments(inputs, segment_ids, num_segments, separator):
    require(segment_ids, INDEX, "Tindices")
    if inputs.shape[: segment_ids.ndim] != segment_ids.shape:
        raise invalid(
            f"segment_ids of shape {plain(segment_ids.shape)} must be the first axes of inputs, of shape {plain(inputs.shape)}"
        )
    return aval((num_segments, *inputs.shape[segment_ids.ndim :]), STRING)


@op("UnsortedSegmentJoin", infer=_segments, mixed=True, on_host=True)
def _unsorted_segment_join(inputs, segment_ids, *, num_segments, separator):
    if segment_ids.size and not 0 <= segment_ids.min() <= segment_ids.max() < num_segments:
        raise InvalidArgumentError.saying(
            "segment_ids are not allowed to exceed num_segments or to have negative values. [Op:UnsortedSegmentJoin]"
        )
    row = inputs.shape[segment_ids.ndim :]
    rows, ids = inputs.reshape((segment_ids.size, math.prod(row))), segment_ids.reshape(-1)
    result = np.empty((num_segments, rows.shape[1]), object)
    for place in np.ndindex(result.shape):
        result[place] = separator.join(rows[ids == place[0], place[1]].tolist())
    return result.reshape((num_segments, *row))


@public
def unsorted_segment_join(inputs, segment_ids, num_segments, separator="", name=None):
    """Join the strings of each of `num_segments` segments; `segment_ids` are the segment numbers of the entries.

    >>> print(tf.strings.unsorted_segment_join(["a", "b", "c"], [1, 0, 1], 2, separator="-").numpy())
    [b'b' b'a-c']
    """
    nodes = texts(inputs, _unsorted_segment_join), convert.node_of(segment_ids)
    return emit(_unsorted_segment_join.op, nodes, (settled(num_segments, "num_segments"), separator_of(separator)))


not_differentiable(
    _length, _lower, _upper, _strip, _substr, _regex_replace, _regex_full_match, _join, _reduce_join, _unsorted_segment_join,
    because=NO_NUMBER,
)  # fmt: skip
