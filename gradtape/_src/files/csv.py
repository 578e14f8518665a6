"""`tf.io.decode_csv`: fields of lines, by RFC 4180."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any

import numpy as np

from gradtape._src.core.base.errors import invalid
from gradtape._src.core.base.public import public
from gradtape._src.core.tensors.convert import tensor
from gradtape._src.core.tensors.tensor import Tensor, to_numpy
from gradtape._src.core.values import dtypes
from gradtape._src.core.values.aval import Aval
from gradtape._src.files.ops import Known, host_op, of_bytes, strings
from gradtape._src.ops.shapes import require

TYPES = "float32 float64 int32 int64 string".split()
SPOKEN = {"float32": "float", "float64": "double"}
BREAKS = (b'"', b"\n", b"\r")


def fields(record: bytes, delimiter: bytes, quotes: bool) -> list[bytes]:
    """Split a record into its fields. InvalidArgumentError for a misplaced quote."""
    if not quotes or b'"' not in record:
        found = record.split(delimiter) if record else []
        if quotes and (b"\n" in record or b"\r" in record):
            raise invalid("Unquoted fields cannot have quotes/CRLFs inside")
        return found
    found, at, end = [], 0, len(record)
    while at <= end:
        if record[at : at + 1] == b'"':
            field, at = _quoted(record, at + 1, delimiter)
        else:
            stop = record.find(delimiter, at)
            stop = end if stop < 0 else stop
            field, at = record[at:stop], stop
            if any(sign in field for sign in BREAKS):
                raise invalid("Unquoted fields cannot have quotes/CRLFs inside")
        found.append(field)
        at += 1
    return found


def _quoted(record: bytes, at: int, delimiter: bytes) -> tuple[bytes, int]:
    """Return the field whose opening quote is before `at`, and its end."""
    pieces = []
    while True:
        stop = record.find(b'"', at)
        if stop < 0:
            raise invalid("Quoted field has to end with quote followed by delim or end")
        pieces.append(record[at:stop])
        following = record[stop + 1 : stop + 2]
        if following == b'"':
            pieces.append(b'"')
            at = stop + 2
        elif following in (b"", delimiter):
            return b"".join(pieces), stop + 1
        else:
            raise invalid("Quote inside a string has to be escaped by another quote")


def values(
    found: Sequence[bytes], defaults: Sequence[np.ndarray], na_value: bytes, select_cols: Sequence[int] | None, record: str
) -> list[Any]:
    """Convert a record's fields to values. InvalidArgumentError for a wrong number of fields, or an invalid number."""
    if select_cols is not None:
        found = [found[place] for place in select_cols if place < len(found)]
    if len(found) != len(defaults):
        raise invalid(f"Expect {len(defaults)} fields but have {len(found)} in {record}")
    made = []
    for at, (field, default) in enumerate(zip(found, defaults, strict=True)):
        dtype = dtypes.as_dtype(default.dtype)
        if not field or field == na_value:
            if not default.size:
                raise invalid(f"Field {at} is required but missing in {record}!")
            made.append(default.ravel()[0])
        else:
            made.append(field if dtype == dtypes.string else _number(field, dtype, at, record))
    return made


def _number(text: bytes, dtype: Any, at: int, record: str) -> Any:
    try:
        word = text.decode("ascii").strip()
        if "_" in word:
            raise ValueError(word)
        if dtype.is_integer:
            value = int(word)
            if not dtype.min <= value <= dtype.max:
                raise ValueError(word)
            return value
        return float(word)
    except ValueError:
        shown = text.decode(errors="replace")
        raise invalid(f"Field {at} in {record} is not a valid {SPOKEN.get(dtype.name, dtype.name)}: {shown}") from None


def _columns(records: Aval, *defaults: Aval, **_: Any) -> list[Known]:
    return [(records.shape, default.type) for default in defaults]


@host_op("DecodeCSV", gives=_columns)
def _decode_csv(
    records: np.ndarray,
    *defaults: np.ndarray,
    field_delim: bytes,
    use_quote_delim: bool,
    na_value: bytes,
    select_cols: tuple[int, ...] | None,
) -> tuple[np.ndarray, ...]:
    columns: list[list[Any]] = [[] for _ in defaults]
    for number, record in enumerate(records.flat):
        found = fields(bytes(record), field_delim, use_quote_delim)
        for column, value in zip(columns, values(found, defaults, na_value, select_cols, f"record {number}"), strict=True):
            column.append(value)
    return tuple(
        [
            of_bytes(column, records.shape) if d.dtype.hasobject else np.array(column, d.dtype).reshape(records.shape)
            for column, d in zip(columns, defaults, strict=True)
        ]
    )


def columns_of(select_cols: Sequence[int] | None, count: int) -> tuple[int, ...] | None:
    """Return the numbers of the selected columns; ValueError unless they increase, and there is a default for each."""
    if select_cols is None:
        return None
    chosen = tuple([int(place) for place in select_cols])
    if any(a >= b for a, b in itertools.pairwise(chosen)):
        raise ValueError("select_cols is not strictly increasing.")
    if chosen and chosen[0] < 0:
        raise ValueError("select_cols contains negative values.")
    if len(chosen) != count:
        raise ValueError("Length of select_cols and record_defaults do not match.")
    return chosen


def check_defaults(defaults: Sequence[Tensor]) -> None:
    """Raise InvalidArgumentError for a default with an invalid dtype, more than one axis, or more than one value."""
    for at, default in enumerate(defaults):
        require(default.node.aval, TYPES, "OUT_TYPE")
        if default.node.aval.ndim > 1:
            raise invalid(f"Each record default should be at most rank 1, but that of field {at} has the shape {default.shape}.")
        if to_numpy(default.node).size > 1:
            raise invalid(f"There should only be 1 default per field but field {at} has {to_numpy(default.node).size}")


def delimiter_of(field_delim: Any) -> bytes:
    """Return the delimiter; InvalidArgumentError unless it is one byte."""
    delimiter: bytes = field_delim.encode() if isinstance(field_delim, str) else field_delim
    if len(delimiter) != 1:
        raise invalid(f"field_delim should be only 1 char, received {field_delim!r}")
    return delimiter


@public
def decode_csv(
    records: Any,
    record_defaults: Sequence[Any],
    field_delim: str = ",",
    use_quote_delim: bool = True,
    na_value: str = "",
    select_cols: Sequence[int] | None = None,
    name: str | None = None,
) -> list[Tensor]:
    """Parse lines of comma-separated values to columns, each a tensor of the shape of `records`.

    `record_defaults` has for each column the value of a field that is empty or `na_value`, which also gives its dtype:
    float32, float64, int32, int64 or string. An empty default, such as `tf.constant([], tf.int32)`, makes the field required.
    A quoted field may contain commas, line ends, and doubled quotes. `select_cols` are the numbers of the columns to return.
    InvalidArgumentError for a line with another number of fields, or a field that is no number.

    >>> number, word = tf.io.decode_csv(["1,one", ',"a, b"'], [[0], [""]])
    >>> number.numpy().tolist(), word.numpy().tolist()
    ([1, 0], [b'one', b'a, b'])
    """
    chosen = columns_of(select_cols, len(record_defaults))
    defaults = [tensor(default) for default in record_defaults]
    check_defaults(defaults)
    delimiter = delimiter_of(field_delim)
    given = strings(records)
    results: Any = _decode_csv(
        given,
        *defaults,
        field_delim=delimiter,
        use_quote_delim=bool(use_quote_delim),
        na_value=na_value.encode() if isinstance(na_value, str) else na_value,
        select_cols=chosen,
    )
    return list(results) if isinstance(results, tuple) else [results]
