"""`TFRecordDataset`, `TextLineDataset`, `FixedLengthRecordDataset`: the contents of files, as strings."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from gradtape._src.core.base.errors import invalid
from gradtape._src.core.base.public import public
from gradtape._src.core.declarations.spec import TensorSpec
from gradtape._src.core.tensors.tensor import Tensor, to_numpy
from gradtape._src.core.values import dtypes
from gradtape._src.data import arguments, stages
from gradtape._src.data.dataset import Dataset
from gradtape._src.data.options import AUTOTUNE, UNKNOWN_CARDINALITY
from gradtape._src.data.stages import Stream
from gradtape._src.data.structure import LEAF, Element, ElementStructure
from gradtape._src.files import records
from gradtape._src.files.ops import of_bytes, string_array
from gradtape._src.files.records import fixed_length_records, text_lines, tf_records
from gradtape._src.files.systems import name_of

STRINGS = ElementStructure(LEAF, (TensorSpec((), dtypes.string),))


class FileDataset(Dataset):
    """A dataset whose elements are the parts of files, read by `read(path)`."""

    def __init__(
        self,
        filenames: Any,
        read: Callable[[str], Iterator[Element]],
        parallel: Any,
        kind: str,
        structure: ElementStructure = STRINGS,
    ) -> None:
        names = _names(filenames)
        turns = 1 if parallel is None else arguments.count(parallel, "num_parallel_reads")
        if turns < 1 and turns != AUTOTUNE:
            raise invalid(f"num_parallel_reads: `cycle_length` must be > 0, received {turns}.")

        def opened(item: Element) -> Stream:
            return read(name_of(item[0][0][()]))

        def start() -> Stream:
            files = map(opened, names.elements())
            return stages.chained(files) if turns in (1, AUTOTUNE) else stages.Interleaved(files, turns, 1)

        super().__init__(start, structure, UNKNOWN_CARDINALITY, kind, options=names._options)


def _elements(parts: Iterator[bytes]) -> Iterator[Element]:
    return (((of_bytes([part], ()),), LEAF) for part in parts)


def _names(filenames: Any) -> Dataset:
    """Return the names of files as a dataset of scalar strings; TypeError for anything else."""
    expected = "The `filenames` argument must contain `tf.string` elements."
    if isinstance(filenames, Dataset):
        spec = filenames.element_spec
        if not isinstance(spec, TensorSpec) or spec.dtype != dtypes.string:
            raise TypeError(f"{expected} Got a dataset of `{getattr(spec, 'dtype', spec)!r}` elements.")
        if not spec.shape.is_compatible_with(()):
            raise TypeError(f"{expected[:-1]} of shape [] (i.e. scalars). Got a dataset of element shape {spec.shape!r}.")
        return filenames
    given = (
        [os.fspath(f) if isinstance(f, os.PathLike) else f for f in filenames]
        if isinstance(filenames, list | tuple)
        else (os.fspath(filenames) if isinstance(filenames, os.PathLike) else filenames)
    )
    names = string_array(given) if not isinstance(given, list) or given else np.zeros(0, object)
    if not names.dtype.hasobject:
        raise TypeError(f"{expected} Got `{dtypes.as_dtype(names.dtype)!r}` elements.")
    return Dataset.from_tensor_slices(names.ravel())


def compression_of(value: Any) -> str:
    """Convert the argument `compression_type`, a string or a tensor of one."""
    found: Any = to_numpy(value.node)[()] if isinstance(value, Tensor) else value or ""
    return records.compression_of(found.decode() if isinstance(found, bytes) else found)


class TFRecordDataset(FileDataset):
    """The records of TFRecord files, scalar strings.

    `filenames` are strings, or a dataset of them; `compression_type` is "GZIP", "ZLIB" or "". `num_parallel_reads` is the
    number of files that are read in turn, one record each. DataLossError for a damaged record.

    >>> with tf.io.TFRecordWriter("ram://numbers") as writer:
    ...     writer.write(b"one")
    ...     writer.write(b"two")
    >>> list(tf.data.TFRecordDataset("ram://numbers").as_numpy_iterator())
    [b'one', b'two']
    """

    @public
    def __init__(
        self,
        filenames: Any,
        compression_type: Any = None,
        buffer_size: Any = None,
        num_parallel_reads: Any = None,
        name: str | None = None,
    ) -> None:
        compression = compression_of(compression_type)
        super().__init__(
            filenames, lambda path: _elements(tf_records(path, compression)), num_parallel_reads, "TFRecordDatasetV2"
        )


class TextLineDataset(FileDataset):
    r"""The lines of text files without their ends, scalar strings; see `TFRecordDataset`.

    >>> with open("lines.txt", "w") as file:
    ...     print("first", "second", sep="\n", file=file)
    >>> print([line.numpy() for line in tf.data.TextLineDataset("lines.txt")])
    [b'first', b'second']
    """

    @public
    def __init__(
        self,
        filenames: Any,
        compression_type: Any = None,
        buffer_size: Any = None,
        num_parallel_reads: Any = None,
        name: str | None = None,
    ) -> None:
        compression = compression_of(compression_type)
        super().__init__(
            filenames, lambda path: _elements(text_lines(path, compression)), num_parallel_reads, "TextLineDatasetV2"
        )


class FixedLengthRecordDataset(FileDataset):
    """The records of `record_bytes` bytes each, between a header and a footer of files; see `TFRecordDataset`.

    InvalidArgumentError for a file whose length does not fit a whole number of records.

    >>> with open("records.bin", "wb") as file:
    ...     written = file.write(b"aabbcc")
    >>> print([record.numpy() for record in tf.data.FixedLengthRecordDataset("records.bin", 2)])
    [b'aa', b'bb', b'cc']
    """

    @public
    def __init__(
        self,
        filenames: Any,
        record_bytes: Any,
        header_bytes: Any = None,
        footer_bytes: Any = None,
        buffer_size: Any = None,
        compression_type: Any = None,
        num_parallel_reads: Any = None,
        name: str | None = None,
    ) -> None:
        compression = compression_of(compression_type)
        length = arguments.count(record_bytes, "record_bytes")
        header = 0 if header_bytes is None else arguments.count(header_bytes, "header_bytes")
        footer = 0 if footer_bytes is None else arguments.count(footer_bytes, "footer_bytes")
        if length < 1 or min(header, footer) < 0:
            raise invalid(
                f"`record_bytes` must be > 0, `header_bytes` and `footer_bytes` >= 0, received {length}, {header} and {footer}."
            )

        def read(path: str) -> Iterator[Element]:
            return _elements(fixed_length_records(path, length, header, footer, compression))

        super().__init__(filenames, read, num_parallel_reads, "FixedLengthRecordDatasetV2")
