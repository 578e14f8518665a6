"""`CsvDataset`, `make_csv_dataset`, `make_batched_features_dataset`: rows of files as elements, columns by name in batches."""

from __future__ import annotations

import csv
import itertools
import math
import re
from collections import OrderedDict
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from gradtape._src.core.base.public import public
from gradtape._src.core.declarations.spec import TensorSpec
from gradtape._src.core.tensors.convert import constant, tensor
from gradtape._src.core.tensors.tensor import Tensor, to_numpy
from gradtape._src.core.values import dtypes
from gradtape._src.core.values.dtypes import DType, as_dtype
from gradtape._src.data.dataset import Dataset
from gradtape._src.data.reading import FileDataset, TFRecordDataset, compression_of
from gradtape._src.data.structure import Element, from_specs
from gradtape._src.files import gfile
from gradtape._src.files.csv import check_defaults, columns_of, delimiter_of, fields, values
from gradtape._src.files.ops import of_bytes
from gradtape._src.files.parsing import parse_example
from gradtape._src.files.records import pieces

# A column gets the first dtype that fits all of its values.
INFERRED = dtypes.int32, dtypes.int64, dtypes.float32, dtypes.float64, dtypes.string


class CsvDataset(FileDataset):
    """The rows of files of comma-separated values, each a tuple of scalars.

    `record_defaults` has for each column a dtype, if all fields are required, or the value of a field that is empty or
    `na_value`. With `header` the first line of a file is skipped. `select_cols` are the numbers of the columns to read,
    `exclude_cols` of those to skip. The other arguments and the errors are those of `tf.io.decode_csv`.

    >>> with open("points.csv", "w") as file:
    ...     written = file.write("x,name\\n1.5,a\\n,b\\n")
    >>> rows = tf.data.experimental.CsvDataset("points.csv", [[0.0], tf.string], header=True)
    >>> [(float(x), name) for x, name in rows.as_numpy_iterator()]
    [(1.5, b'a'), (0.0, b'b')]
    """

    @public
    def __init__(
        self,
        filenames: Any,
        record_defaults: Sequence[Any],
        compression_type: Any = None,
        buffer_size: Any = None,
        header: bool = False,
        field_delim: str = ",",
        use_quote_delim: bool = True,
        na_value: str = "",
        select_cols: Sequence[int] | None = None,
        exclude_cols: Sequence[int] | None = None,
    ) -> None:
        if select_cols is not None and exclude_cols is not None:
            raise ValueError("Either select_cols or exclude_cols should be empty: received both.")
        given = [_required(d) if isinstance(d, (DType, type)) or d in INFERRED else tensor(d) for d in record_defaults]
        check_defaults(given)
        defaults = [to_numpy(default.node) for default in given]
        chosen = columns_of(select_cols, len(defaults))
        delimiter, missing = delimiter_of(field_delim), na_value.encode()
        compression = compression_of(compression_type)
        left_out = frozenset(exclude_cols or ())

        def rows(path: str) -> Iterator[Element]:  # an invalid record does not end it
            return map(element, itertools.islice(_records(path, compression, delimiter, use_quote_delim), int(header), None))

        def element(record: bytes) -> Element:
            found = fields(record, delimiter, use_quote_delim)
            if left_out:
                found = [field for at, field in enumerate(found) if at not in left_out]
            row = values(found, defaults, missing, chosen, "record")
            return tuple([_scalar(value, default) for value, default in zip(row, defaults, strict=True)]), structure.nest

        structure = from_specs(tuple([TensorSpec((), default.dtype) for default in given]))
        super().__init__(filenames, rows, None, "CsvDatasetV2", structure)


def _required(dtype: Any) -> Tensor:
    return constant([], as_dtype(dtype))


def _scalar(value: Any, default: np.ndarray) -> np.ndarray:
    return of_bytes([value], ()) if default.dtype.hasobject else np.array(value, default.dtype)


def _records(path: str, compression: str, delimiter: bytes, quotes: bool) -> Iterator[bytes]:
    """Yield the records of a file. Each ends with its line, unless a field that begins with a quote contains the line break."""
    sign = re.escape(delimiter)
    field = rb'(?:"(?:[^"]++|"")*+"?+)?+[^%b\r\n]*+' % sign
    whole = rb"%b(?:%b%b)*+" % (field, sign, field) if quotes else rb"[^\r\n]*+"
    record = re.compile(rb"(%b)(?:\r\n|\r|\n)" % whole)
    rest, enough = b"", 0  # a long record is not looked at anew for each piece
    for piece in pieces(path, compression):
        rest += piece
        if len(rest) < enough:
            continue
        at = 0
        while (found := record.match(rest, at)) and found.end() < len(rest):  # "\n" may follow a "\r" at the end
            yield found[1]
            at = found.end()
        rest = rest[at:]
        enough = 2 * len(rest)
    at, last = 0, rest if rest.endswith((b"\r", b"\n")) else rest + b"\n"
    while at < len(rest):
        found = record.match(last, at)
        yield found[1] if found else rest[at:]
        at = found.end() if found else len(rest)


@public
def make_csv_dataset(
    file_pattern: Any,
    batch_size: Any,
    column_names: Sequence[str] | None = None,
    column_defaults: Sequence[Any] | None = None,
    label_name: str | None = None,
    select_columns: Sequence[Any] | None = None,
    field_delim: str = ",",
    use_quote_delim: bool = True,
    na_value: str = "",
    header: bool = True,
    num_epochs: Any = None,
    shuffle: bool = True,
    shuffle_buffer_size: Any = 10000,
    shuffle_seed: Any = None,
    prefetch_buffer_size: Any = None,
    num_parallel_reads: Any = None,
    sloppy: bool = False,
    num_rows_for_inference: int | None = 100,
    compression_type: str | None = None,
    ignore_errors: bool = False,
    encoding: str = "utf-8",
) -> Dataset:
    """Read CSV files as batches: an OrderedDict of columns by name, and beside it the column `label_name`, if one is given.

    `file_pattern` is a pattern, or a list of them (`tf.io.gfile.glob`). Column names are those of the first line, or
    `column_names`. `column_defaults` are their dtypes, or values for missing fields. By default the
    dtype is the first of int32, int64, float32, float64 and string that fits the first `num_rows_for_inference` rows. Without
    `num_epochs` the dataset is infinite, and all batches are full.

    >>> with open("table.csv", "w") as file:
    ...     written = file.write("size,kind\\n1,a\\n2,b\\n")
    >>> batches = tf.data.experimental.make_csv_dataset("table.csv", 2, label_name="kind", num_epochs=1, shuffle=False)
    >>> for features, label in batches:
    ...     print(features["size"].numpy(), label.numpy())
    [1 2] [b'a' b'b']
    """
    names = _file_names(file_pattern, shuffle)
    table = _Table(names, compression_type, encoding, field_delim, use_quote_delim, header)
    columns = _different(table.header() if column_names is None else list(column_names))
    chosen = None if select_columns is None else _numbers(select_columns, columns)
    kept = range(len(columns)) if chosen is None else chosen
    defaults = column_defaults
    if defaults is None:
        defaults = table.defaults(kept, len(columns), na_value, num_rows_for_inference)
    titles = [columns[at] for at in kept]
    _check(defaults, chosen, titles, label_name)

    def rows(path: Any) -> Dataset:
        found = CsvDataset(path, defaults, compression_type, None, header, field_delim, use_quote_delim, na_value, chosen)
        return found.ignore_errors() if ignore_errors else found

    def named(*row: Tensor) -> Any:
        features = OrderedDict(zip(titles, row, strict=True))
        return features if label_name is None else (features, features.pop(label_name))

    elements = _interleaved(names, rows, num_parallel_reads, shuffle, shuffle_seed)
    elements = _shuffled(elements, shuffle, shuffle_buffer_size, shuffle_seed, num_epochs)
    batches = elements.batch(batch_size, drop_remainder=num_epochs is None).map(named)
    return batches if prefetch_buffer_size is None else batches.prefetch(prefetch_buffer_size)


def _file_names(file_pattern: Any, shuffle: bool) -> list[str]:
    names = gfile.glob(file_pattern) if file_pattern else []
    if not names:
        raise ValueError(f"No files match `file_pattern` {file_pattern}.")
    return names if shuffle else sorted(names)


class _Table:
    """CSV files as text, for finding the names and dtypes of columns."""

    def __init__(
        self, names: list[str], compression: str | None, encoding: str, delimiter: str, quotes: bool, header: bool
    ) -> None:
        self._names, self._compression, self._encoding, self._header = names, compression, encoding, header
        self._delimiter, self._quotes = delimiter, quotes

    def _rows(self, name: str, first: int) -> Iterator[list[str]]:
        if self._compression not in (None, "", "GZIP"):
            raise ValueError(
                f"`compression_type` = {self._compression!r} is not supported where names or dtypes of columns are inferred. "
                "Give `column_names` and `column_defaults`."
            )
        found = _records(name, self._compression or "", self._delimiter.encode(), self._quotes)
        records = (record.decode(self._encoding) for record in found)
        quoting: Any = csv.QUOTE_MINIMAL if self._quotes else csv.QUOTE_NONE
        return itertools.islice(csv.reader(records, delimiter=self._delimiter, quoting=quoting), first, None)

    def header(self) -> list[str]:
        """Return the column names in the first line of each file; ValueError unless all agree."""
        if not self._header:
            raise ValueError("Expected `column_names` or `header` arguments. Neither is provided.")
        found: list[list[str]] = [next(self._rows(name, 0), []) for name in self._names]
        if any(columns != found[0] for columns in found):
            raise ValueError("All input CSV files must have the same column names in the header row.")
        return found[0]

    def defaults(self, kept: Sequence[int], width: int, na_value: str, most: int | None) -> list[Tensor]:
        """Return a default for each of the columns `kept`, 0 or "", of the dtype that fits its values in the first rows."""
        kinds = dict.fromkeys(kept, -1)
        rows = itertools.chain.from_iterable(self._rows(name, int(self._header)) for name in self._names)
        for number, row in enumerate(itertools.islice(rows, most), 1):
            if len(row) != width:
                raise ValueError(f"Problem inferring types: CSV row {number} has {len(row)} number of fields. Expected: {width}.")
            for at in kept:
                if row[at] not in ("", na_value):
                    kinds[at] = next(k for k in range(max(kinds[at], 0), len(INFERRED)) if _fits(row[at], INFERRED[k]))
        texts = -1, len(INFERRED) - 1
        return [constant([""]) if kinds[at] in texts else constant([0], INFERRED[kinds[at]]) for at in kept]


def _check(defaults: Sequence[Any], chosen: Sequence[int] | None, titles: list[str], label: str | None) -> None:
    """Raise ValueError unless each selected column has a default, and the label is one of them."""
    if chosen is not None and len(defaults) != len(chosen):
        lengths = f"`column_defaults` has length {len(defaults)}, `select_columns` has length {len(chosen)}"
        raise ValueError(f"If specified, `column_defaults` and `select_columns` must have the same length: {lengths}.")
    if label is not None and label not in titles:
        raise ValueError(f"`label_name` provided must be one of the columns: {titles}. Received: {label}.")


def _different(columns: list[str]) -> list[str]:
    """Return the names of columns; ValueError if one is repeated."""
    if len(columns) != len(set(columns)):
        twice = {name for name in columns if columns.count(name) > 1}
        raise ValueError(f"Either `column_names` argument or CSV header row contains duplicate column names: {twice}.")
    return columns


def _numbers(wanted: Sequence[Any], columns: list[str]) -> list[int]:
    """Convert column numbers or names to numbers, in the order of the file; ValueError for others."""
    found = set()
    for column in wanted:
        at = column if isinstance(column, int) else columns.index(column) if column in columns else -1
        if not 0 <= at < len(columns):
            raise ValueError(f"Column {column} specified in `select_columns` must be one of the columns: {columns}.")
        found.add(at)
    if len(found) != len(wanted):
        raise ValueError(f"The `select_columns` argument contains duplicate columns: {list(wanted)}.")
    return sorted(found)


def _fits(text: str, dtype: DType) -> bool:
    if dtype == dtypes.string:
        return True
    of: Any = int if dtype.is_integer else float
    try:
        number = of(text)
    except ValueError:
        return False
    return math.isnan(number) or of(dtype.min) <= number <= of(dtype.max)


def _interleaved(names: list[str], rows: Callable[[Any], Dataset], turns: Any, shuffle: bool, seed: Any) -> Dataset:
    """Return the elements of files interleaved, `turns` of them at a time. If shuffled, the order changes with each pass."""
    files = Dataset.from_tensor_slices(names)
    if shuffle:
        files = files.shuffle(len(names), seed)
    return files.interleave(rows, 1 if turns is None else turns)


def _shuffled(elements: Dataset, shuffle: bool, buffer_size: Any, seed: Any, epochs: Any) -> Dataset:
    elements = elements.shuffle(buffer_size, seed) if shuffle else elements
    return elements if epochs == 1 else elements.repeat(epochs)


@public
def make_batched_features_dataset(
    file_pattern: Any,
    batch_size: Any,
    features: dict[str, Any],
    reader: Any = None,
    label_key: str | None = None,
    reader_args: Sequence[Any] | None = None,
    num_epochs: Any = None,
    shuffle: bool = True,
    shuffle_buffer_size: Any = 10000,
    shuffle_seed: Any = None,
    prefetch_buffer_size: Any = None,
    reader_num_threads: Any = None,
    parser_num_threads: Any = None,
    sloppy_ordering: bool = False,
    drop_final_batch: bool = False,
) -> Dataset:
    """Read TFRecord files of `tf.train.Example` as batches: a dict of `features` (`tf.io.parse_example`), paired with the
    feature `label_key` if it is given.

    `reader(file, *reader_args)` returns a dataset of the records of a file, by default a `TFRecordDataset`. Without
    `num_epochs` the dataset is infinite.

    >>> with tf.io.TFRecordWriter("ages.tfrecord") as writer:
    ...     for age in (3, 5):
    ...         feature = tf.train.Feature(int64_list=tf.train.Int64List(value=[age]))
    ...         example = tf.train.Example(features=tf.train.Features(feature={"age": feature}))
    ...         writer.write(example.SerializeToString())
    >>> wanted = {"age": tf.io.FixedLenFeature([], tf.int64)}
    >>> batches = tf.data.experimental.make_batched_features_dataset("ages.tfrecord", 2, wanted, num_epochs=1, shuffle=False)
    >>> [batch["age"].tolist() for batch in batches.as_numpy_iterator()]
    [[3, 5]]
    """
    if label_key is not None and label_key not in features:
        raise ValueError(f"The `label_key` provided ({label_key!r}) must be one of the `features` keys: {list(features)}.")
    read, more = TFRecordDataset if reader is None else reader, reader_args or ()

    def parsed(records: Tensor) -> Any:
        found = parse_example(records, features)
        return found if label_key is None else (found, found.pop(label_key))

    names = _file_names(file_pattern, shuffle)
    elements = _interleaved(names, lambda name: read(name, *more), reader_num_threads, shuffle, shuffle_seed)
    elements = _shuffled(elements, shuffle, shuffle_buffer_size, shuffle_seed, num_epochs)
    drops = drop_final_batch or num_epochs is None
    batches = elements.batch(batch_size, drop_remainder=drops).map(parsed, num_parallel_calls=parser_num_threads)
    return batches if prefetch_buffer_size is None else batches.prefetch(prefetch_buffer_size)


@public
def parse_example_dataset(
    features: dict[str, Any] | None, num_parallel_calls: Any = 1, deterministic: bool | None = None
) -> Callable[[Dataset], Dataset]:
    """Parse batches of serialized `tf.train.Example`, for `apply`; see `tf.io.parse_example`. ValueError without `features`.

    >>> feature = tf.train.Feature(int64_list=tf.train.Int64List(value=[3]))
    >>> example = tf.train.Example(features=tf.train.Features(feature={"age": feature})).SerializeToString()
    >>> parsing = tf.data.experimental.parse_example_dataset({"age": tf.io.FixedLenFeature([], tf.int64)})
    >>> batches = tf.data.Dataset.from_tensor_slices([example]).batch(1).apply(parsing)
    >>> [batch["age"].tolist() for batch in batches.as_numpy_iterator()]
    [[3]]
    """
    if features is None:
        raise ValueError("Argument `features` is required, but not specified.")
    return lambda dataset: dataset.map(lambda records: parse_example(records, features), num_parallel_calls=num_parallel_calls)
