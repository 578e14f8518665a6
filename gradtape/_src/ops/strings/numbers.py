"""Conversion between numbers and strings, and hash buckets: `as_string`, `to_number`, `format`."""

import re

import numpy as np

from gradtape._src.core.base.errors import InvalidArgumentError, invalid, invalid_for
from gradtape._src.core.base.public import public
from gradtape._src.core.declarations.define import not_differentiable, op
from gradtape._src.core.tensors.convert import tensor
from gradtape._src.core.tensors.tensor import emit
from gradtape._src.core.values import dtypes
from gradtape._src.core.values.aval import aval
from gradtape._src.ops.debugging.printing import array_text
from gradtape._src.ops.shapes import named_dtype, spoken
from gradtape._src.ops.strings.elements import NO_NUMBER, STRING, each, texts
from gradtape._src.ops.strings.hashing import fingerprint, keyed, murmur

INT64 = np.dtype(np.int64)

# ---------------------------------------------------------------------------------------------------------------------
# Numbers as strings


def _numbers(input, precision, scientific, shortest, width, fill):
    if scientific and shortest:
        raise invalid_for("AsString", "Cannot select both scientific and shortest notation")
    floating = input.type.is_floating or input.type.is_complex or input.dtype is STRING  # strings are returned unchanged
    name = spoken(input.type.name)
    if not floating and precision >= 0:
        raise invalid_for("AsString", f"precision not supported for datatype {name}")
    if not floating and (scientific or shortest):
        raise invalid_for("AsString", f"scientific and shortest format not supported for datatype {name}")
    if len(fill) > 1:
        raise invalid_for("AsString", f"Fill string must be one or fewer characters, received {fill!r}")
    if fill not in ("", " ", "+", "-", "0", "#"):
        raise invalid_for("AsString", f'Fill argument not supported: "{fill}": it is one of " ", "+", "-", "0", "#"')
    return aval(input.shape, STRING)


@op(
    "AsString", infer=_numbers, on_host=True, instead="go on with the number, and write the string beside it",
    traits="writes_bytes",
)  # fmt: skip
def _as_string(input, *, precision, scientific, shortest, width, fill):
    kind = input.dtype.kind
    if kind == "b":
        return each(lambda value: b"true" if value else b"false", input)
    form = f"%{fill}{width if width > -1 else ''}"
    if kind == "O":
        return each(lambda data: b" " * (width - len(data)) + data if fill != "-" else data.ljust(width), input)
    if kind in "iu":
        return each(lambda value: (f"{form}d" % value).encode(), input)
    form += f"{f'.{precision}' if precision > -1 else ''}{'e' if scientific else 'g' if shortest else 'f'}"
    if kind == "c":
        return each(lambda value: f"({form % value.real},{form % value.imag})".encode(), input)
    return each(lambda value: (form % value).encode(), input.astype(np.float64))


@public
def as_string(input, precision=-1, scientific=False, shortest=False, width=-1, fill="", name=None):
    """Format each element as a string, of a tensor of any dtype.

    Floats have `precision` (6) digits behind the point, an exponent with `scientific`, or the shorter form with `shortest`.
    `width` and `fill` pad it, as in C's `printf`.

    >>> tf.as_string([1.0, 2.5], precision=1).numpy().tolist()
    [b'1.0', b'2.5']
    """
    return emit(_as_string.op, (tensor(input).node,), (int(precision), bool(scientific), bool(shortest), int(width), str(fill)))


@op("StringFormat", infer=lambda *inputs, template, placeholder, summarize: aval((), STRING), mixed=True, on_host=True)
def _format(*inputs, template, placeholder, summarize):
    pieces = template.split(placeholder)
    shown = [array_text(x, summarize) for x in inputs]
    return "".join([pieces[0], *[text for pair in zip(shown, pieces[1:], strict=True) for text in pair]]).encode()


@public
def format(template, inputs, placeholder="{}", summarize=3, name=None):
    """Return `template` with each `placeholder` replaced by a tensor of `inputs` (one, or a list), formatted as by `tf.print`.

    `summarize` is the number of entries shown at each end of an axis, -1 for all.

    >>> tf.strings.format("x: {}", tf.constant([1, 2])).numpy()
    b'x: [1 2]'
    """
    values = list(inputs) if isinstance(inputs, (list, tuple)) else [inputs]
    expected = template.count(placeholder)
    if expected != len(values):
        raise ValueError(
            f"The template expects {expected} tensors, but the inputs only has {len(values)}. Please ensure the number of "
            "placeholders in template matches inputs length."
        )
    return emit(_format.op, tuple([tensor(value).node for value in values]), (template, placeholder, int(summarize)))


# ---------------------------------------------------------------------------------------------------------------------
# Strings as numbers

TO = ("float32", "float64", "int32", "int64", "uint32", "uint64")
_FLOAT = re.compile(rb"[+-]?((\d+\.?\d*|\.\d+)(e[+-]?\d+)?|inf|infinity|nan)", re.IGNORECASE)
_HEX = re.compile(rb"[+-]?0x([0-9a-f]+\.?[0-9a-f]*|\.[0-9a-f]+)(p[+-]?\d+)?", re.IGNORECASE)
_INTEGER = re.compile(rb"[+-]?\d+")


def _parsed(data, dtype):
    """Parse a string as a number; return None if it is invalid or out of range."""
    text = data.strip()
    if dtype.kind == "f":
        if _HEX.fullmatch(text):
            return float.fromhex(text.decode())
        return float(text) if _FLOAT.fullmatch(text) else None
    if not _INTEGER.fullmatch(text):
        return None
    limits, value = np.iinfo(dtype), int(text)
    return value if limits.min <= value <= limits.max else None


@op("StringToNumber", infer=lambda input, out_type: aval(input.shape, out_type), on_host=True)
def _to_number(input, *, out_type):
    def number(data):
        value = _parsed(data, out_type)
        if value is None:
            raise InvalidArgumentError.saying(
                f"StringToNumberOp could not correctly convert string: {data.decode(errors='replace')} "
                f"(to {spoken(out_type.name)}) [Op:StringToNumber]"
            )
        return value

    with np.errstate(over="ignore"):
        return each(number, input).astype(out_type)


@public
def to_number(input, out_type=dtypes.float32, name=None):
    """Parse each string as a number of `out_type`: float32 (the default), float64, int32, int64, uint32 or uint64.

    InvalidArgumentError for a string that is no number, or out of range.

    >>> tf.strings.to_number(["1.5", "-2"]).numpy().tolist()
    [1.5, -2.0]
    """
    return emit(_to_number.op, (texts(input, _to_number),), (named_dtype(out_type, TO, "out_type"),))


# ---------------------------------------------------------------------------------------------------------------------
# Hash buckets


def _buckets(type, hashed):
    @op(type, infer=lambda input, num_buckets, key: aval(input.shape, INT64), on_host=True)
    def bucket(input, *, num_buckets, key):
        return each(lambda data: hashed(data, *key) % num_buckets, input).astype(np.int64)

    def function(input, num_buckets, *key):
        if num_buckets < 1:
            raise invalid(f"Value for attr 'num_buckets' of {num_buckets} must be at least minimum 1")
        return emit(bucket.op, (texts(input, bucket),), (int(num_buckets), key))

    not_differentiable(bucket, because=NO_NUMBER)
    return function


_murmur = _buckets("StringToHashBucket", murmur)
_fingerprint = _buckets("StringToHashBucketFast", fingerprint)
_keyed = _buckets("StringToHashBucketStrong", keyed)


@public
def to_hash_bucket(input, num_buckets, name=None):
    """Return the bucket of each string, an int64 below `num_buckets`, by MurmurHash as in TensorFlow.

    >>> print(tf.strings.to_hash_bucket(["a", "b"], 10).shape)
    (2,)
    """
    return _murmur(input, num_buckets)


@public
def to_hash_bucket_fast(input, num_buckets, name=None):
    """Return the bucket of each string, an int64 below `num_buckets`, by FarmHash's fingerprint as in TensorFlow.

    >>> tf.strings.to_hash_bucket_fast(["Hello", "TensorFlow", "2.x"], 3).numpy().tolist()
    [0, 2, 2]
    """
    return _fingerprint(input, num_buckets)


@public
def to_hash_bucket_strong(input, num_buckets, key, name=None):
    """Hash strings like `to_hash_bucket_fast`, by SipHash. Without the secret `key` of two integers collisions cannot be
    constructed.

    >>> print(tf.strings.to_hash_bucket_strong(["a", "b", "a"], 100, key=[1, 2]).numpy())
    [46 84 46]
    """
    if len(key) != 2:
        raise invalid_for("StringToHashBucketStrong", f"Key must have 2 elements, received {len(key)}: {key!r}")
    return _keyed(input, num_buckets, tuple([int(part) for part in key]))


not_differentiable(_as_string, _format, _to_number, because=NO_NUMBER)
