"""Sources of a table's pairs: tensors, or a text file."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Any

import numpy as np

from gradtape._src.core.base.errors import FailedPreconditionError, InvalidArgumentError, NotFoundError, invalid_for
from gradtape._src.core.base.public import public
from gradtape._src.core.tensors.constants import to_array
from gradtape._src.core.tensors.convert import is_tensor, tensor
from gradtape._src.core.tensors.tensor import to_numpy
from gradtape._src.core.values import dtypes
from gradtape._src.files.gfile import GFile

Pairs = dict[Any, Any]


class TextFileIndex:
    """Special indices for a `TextFileInitializer`: the whole line, or its number. Other indices are columns, from 0.

    >>> tf.lookup.TextFileIndex.WHOLE_LINE, tf.lookup.TextFileIndex.LINE_NUMBER
    (-2, -1)
    """

    WHOLE_LINE = -2
    LINE_NUMBER = -1


class KeyValueTensorInitializer:
    """A table's pairs, from two tensors (or values that can be tensors) of the same shape.

    >>> pairs = tf.lookup.KeyValueTensorInitializer(["a", "b"], [1, 2])
    >>> tf.lookup.StaticHashTable(pairs, default_value=-1).lookup(tf.constant(["b", "c"])).numpy()
    array([ 2, -1], dtype=int32)
    """

    @public
    def __init__(self, keys: Any, values: Any, key_dtype: Any = None, value_dtype: Any = None, name: str | None = None) -> None:
        self._keys, self._values = tensor(keys, key_dtype), tensor(values, value_dtype)
        self.key_dtype, self.value_dtype, self._name = self._keys.dtype, self._values.dtype, name

    def initialize(self, table: Any) -> None:
        """Fill a table with the pairs."""
        table.fill(self.pairs())

    def pairs(self) -> Pairs:
        """Return the pairs as a dict; an OpError for invalid ones."""
        keys, values = to_numpy(self._keys.node), to_numpy(self._values.node)
        if keys.shape != values.shape:
            raise invalid_for("LookupTableImportV2", f"Expected shape {list(keys.shape)} for value, got {list(values.shape)}")
        return _paired(zip(keys.ravel().tolist(), values.ravel().tolist(), strict=True))


class TextFileInitializer:
    r"""A table's pairs, one in each line of a text file.

    `key_index` and `value_index` are column numbers from 0, with columns separated by `delimiter`, or `TextFileIndex.WHOLE_LINE`,
    or `TextFileIndex.LINE_NUMBER` (from 0, plus `value_index_offset` for values). `vocab_size` is the number of lines to read;
    InvalidArgumentError for a shorter file. `key_dtype` is string or int64.

    >>> import pathlib
    >>> _ = pathlib.Path("animals.txt").write_text("cat\ndog\n")
    >>> whole, number = tf.lookup.TextFileIndex.WHOLE_LINE, tf.lookup.TextFileIndex.LINE_NUMBER
    >>> lines = tf.lookup.TextFileInitializer("animals.txt", tf.string, whole, tf.int64, number)
    >>> tf.lookup.StaticHashTable(lines, -1).lookup(tf.constant(["dog", "cow"])).numpy()
    array([ 1, -1])
    """

    @public
    def __init__(
        self,
        filename: Any,
        key_dtype: Any,
        key_index: int,
        value_dtype: Any,
        value_index: int,
        vocab_size: int | None = None,
        delimiter: str = "\t",
        name: str | None = None,
        value_index_offset: int = 0,
    ) -> None:
        path = to_array(filename) if not is_tensor(filename) else to_numpy(filename.node)
        self._path = os.fsdecode(path.item()) if isinstance(path, np.ndarray) else os.fspath(filename)
        self.key_dtype, self.value_dtype = dtypes.as_dtype(key_dtype), dtypes.as_dtype(value_dtype)
        self._key_index, self._value_index = int(key_index), int(value_index)
        self._size, self._delimiter, self._name, self._offset = vocab_size, delimiter.encode(), name, int(value_index_offset)
        for what, index, dtype in (("key", self._key_index, self.key_dtype), ("value", self._value_index, self.value_dtype)):
            if index < TextFileIndex.WHOLE_LINE:
                raise ValueError(f"`{what}_index` should be >= -2, received: {index}.")
            if index == TextFileIndex.LINE_NUMBER and dtype != dtypes.int64:
                raise ValueError(f"`{what}_dtype` must be int64 if `{what}_index` is -1, received: {dtype}")
            if index == TextFileIndex.WHOLE_LINE and (dtype.is_floating or dtype.is_bool):
                raise ValueError(f"`{what}_dtype` should be either integer or string if `{what}_index` is -2, received: {dtype}")
        if vocab_size is not None and vocab_size <= 0:
            raise ValueError(f"`vocab_size` must be > 0, received: {vocab_size}")
        if self._key_index == self._value_index:
            raise ValueError(
                f"Invalid value for `key_index` and `value_index`. Received the same value for both: {self._key_index}."
            )

    def initialize(self, table: Any) -> None:
        """Fill a table with the pairs."""
        table.fill(self.pairs())

    def pairs(self) -> Pairs:
        """Return the pairs as a dict; an OpError for an invalid file."""
        try:
            with GFile(self._path, "rb") as file:
                lines = [line.removesuffix(b"\r") for line in file.read().removesuffix(b"\n").split(b"\n")]
        except NotFoundError:
            message = f"{self._path}; No such file or directory [Op:InitializeTableFromTextFileV2]"
            raise NotFoundError.saying(message) from None
        if self._size is not None:
            if len(lines) < self._size:
                raise self._wrong(f"Invalid vocab_size in {self._path}: expected {self._size} but got {len(lines)}")
            lines = lines[: self._size]
        return _paired(self._pair(number, line) for number, line in enumerate(lines))

    def _pair(self, number: int, line: bytes) -> tuple[Any, Any]:
        columns = line.split(self._delimiter)
        least = max(self._key_index, self._value_index) + 1
        if len(columns) < least:
            raise self._wrong(
                f"Invalid number of columns in {self._path} line {number} ({line.decode(errors='replace')}) : "
                f"expected at least {least} got {len(columns)}"
            )
        key = self._field(number, line, columns, self._key_index, self.key_dtype)
        value = self._field(number, line, columns, self._value_index, self.value_dtype)
        return key, value + self._offset if self._value_index == TextFileIndex.LINE_NUMBER else value

    def _field(self, number: int, line: bytes, columns: list[bytes], index: int, dtype: dtypes.DType) -> Any:
        if index == TextFileIndex.LINE_NUMBER:
            return number
        field = line if index == TextFileIndex.WHOLE_LINE else columns[index]
        if dtype == dtypes.string:
            return field
        try:
            return float(field) if dtype.is_floating else int(field)
        except ValueError:
            text = field.decode(errors="replace")
            raise self._wrong(f"Field {text} in line {number} is not a valid {dtype.name}.") from None

    @staticmethod
    def _wrong(text: str) -> InvalidArgumentError:
        return invalid_for("InitializeTableFromTextFileV2", text)


def _paired(pairs: Iterator[tuple[Any, Any]]) -> Pairs:
    """Return the pairs as a dict; FailedPreconditionError for a key with two values."""
    found: Pairs = {}
    for key, value in pairs:
        known = found.setdefault(key, value)
        if known != value:
            key, known, value = (x.decode(errors="replace") if isinstance(x, bytes) else x for x in (key, known, value))
            raise FailedPreconditionError.saying(
                f"HashTable has different value for same key. Key {key} has {known} and trying to add value {value} "
                "[Op:LookupTableImportV2]"
            )
    return found
