"""Files of records: TFRecord with checksums and compression, lines of text, records of fixed length.

A TFRecord file has for each record its length (8 bytes), a checksum of the length, the record, and a checksum of that.
"""

from __future__ import annotations

import os
import struct
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from typing import IO, Any, ClassVar

from gradtape._src.core.base.errors import DataLossError, FailedPreconditionError, invalid
from gradtape._src.core.base.extras import package
from gradtape._src.core.base.public import public
from gradtape._src.files.systems import name_of, open_bytes, told

PIECE = 1 << 18  # bytes read at a time, so that an invalid length allocates no more
LENGTH, CHECKSUM = struct.Struct("<Q"), struct.Struct("<I")
HEAD = LENGTH.size + CHECKSUM.size
WINDOWS = {"ZLIB": 15, "GZIP": 31}  # zlib's codes for the format of the header


def masked_checksum(data: bytes) -> int:
    """Return the CRC-32C of `data` with the mask of TFRecord files."""
    crc = package("google_crc32c", "TFRecord files and checkpoints of TensorFlow").value(data)
    masked: int = ((crc >> 15 | crc << 17) + 0xA282EAD8) & 0xFFFFFFFF
    return masked


# ---------------------------------------------------------------------------------------------------------------------
# Reading


class Inflated:
    """A decompressed stream of a file, read on demand."""

    def __init__(self, file: IO[bytes], compression: str, path: str) -> None:
        self._file, self._window, self._path = file, WINDOWS[compression], path
        self._stream, self._waiting, self._begun = zlib.decompressobj(self._window), b"", False

    def read(self, count: int) -> bytes:
        """Return up to `count` bytes; none at the end. DataLossError if the file is not compressed, or truncated."""
        while True:
            if self._stream.eof:  # another compressed member may follow
                self._waiting = self._stream.unused_data
                self._stream, self._begun = zlib.decompressobj(self._window), False
            given = self._waiting or self._file.read(PIECE)
            if not given and self._begun:
                raise _damaged(self._path, "EOF reached in the middle of compressed data: the file is truncated.")
            if not given:
                return b""
            self._begun = True
            try:
                piece = self._stream.decompress(given, count)
            except zlib.error as error:
                raise _damaged(self._path, _inflation(error)) from error
            self._waiting = self._stream.unconsumed_tail
            if piece:
                return piece


def _inflation(error: zlib.error) -> str:
    """Format an error of zlib as in TensorFlow: `Error -3 while decompressing data: incorrect header check`."""
    number, _, reason = str(error).removeprefix("Error ").partition(" while decompressing data: ")
    return f"inflate() failed with error {number}: {reason}"


def inflate(data: bytes, compression: str) -> bytes:
    """Uncompress bytes. As in TensorFlow, truncated data give a truncated result."""
    stream = zlib.decompressobj(WINDOWS[compression])
    try:
        return stream.decompress(data)
    except zlib.error as error:
        raise DataLossError.saying(_inflation(error)) from error


def compression_of(value: str) -> str:
    """Check a compression of record files; InvalidArgumentError for an unknown one."""
    if value not in ("", *WINDOWS):
        raise invalid(f"Unsupported compression_type: {value!r}. Give '', 'GZIP' or 'ZLIB'.")
    return value


def _opened(file: IO[bytes], compression: str, path: str) -> Any:
    return Inflated(file, compression, path) if compression else file


def _damaged(path: str, text: str) -> DataLossError:
    return DataLossError.saying(f"{path}; {text}")


def _exactly(stream: Any, count: int) -> bytes:
    """Return the next `count` bytes of a stream, or fewer at its end. Memory is allocated for existing bytes only."""
    pieces, missing = [], count
    while missing and (piece := stream.read(min(missing, PIECE))):
        pieces.append(piece)
        missing -= len(piece)
    return b"".join(pieces)


def tf_records(path: str, compression: str = "") -> Iterator[bytes]:
    """Yield the records of a TFRecord file. DataLossError for a damaged or truncated one."""
    with open_bytes(path) as file:
        stream, offset = _opened(file, compression, path), 0
        ended = "EOF reached" if compression else "Read less bytes than requested"
        with told(path):
            while head := _exactly(stream, HEAD):
                if len(head) < HEAD:
                    raise _damaged(path, f"truncated record at {offset}' failed with {ended}")
                if CHECKSUM.unpack_from(head, LENGTH.size)[0] != masked_checksum(head[: LENGTH.size]):
                    doubt = "" if offset else " (Is this even a TFRecord file?)"
                    raise _damaged(path, f"corrupted record at {offset}{doubt}")
                (length,) = LENGTH.unpack_from(head)
                body = _exactly(stream, length + CHECKSUM.size)
                if len(body) < length + CHECKSUM.size:
                    raise _damaged(path, f"truncated record at {offset}' failed with {ended}")
                record = body[:length]
                if CHECKSUM.unpack_from(body, length)[0] != masked_checksum(record):
                    raise _damaged(path, f"corrupted record at {offset + HEAD}")
                yield record
                offset += HEAD + len(body)


def pieces(path: str, compression: str = "") -> Iterator[bytes]:
    """Yield the bytes of a file, some at a time."""
    with open_bytes(path) as file:
        stream = _opened(file, compression, path)
        with told(path):
            while piece := stream.read(PIECE):
                yield piece


def text_lines(path: str, compression: str = "") -> Iterator[bytes]:
    """Yield the lines of a file without their ends. As in TensorFlow, all carriage returns are removed."""
    pending: list[bytes] = []
    for piece in pieces(path, compression):
        first, *others = piece.split(b"\n")
        pending.append(first)
        for line in others:
            yield b"".join(pending).replace(b"\r", b"")
            pending = [line]
    if rest := b"".join(pending):
        yield rest.replace(b"\r", b"")


def fixed_length_records(path: str, length: int, header: int = 0, footer: int = 0, compression: str = "") -> Iterator[bytes]:
    """Yield the records of `length` bytes between a header and a footer, both sizes in bytes.

    InvalidArgumentError if the length of the file does not fit; for a compressed file DataLossError at its end.
    """

    def odd(body: int) -> str:
        return (
            f'Excluding the header ({header} bytes) and footer ({footer} bytes), input file "{path}" has body length {body} '
            f"bytes, which is not an exact multiple of the record length ({length} bytes)."
        )

    with open_bytes(path) as file, told(path):
        if not compression:
            body = file.seek(0, os.SEEK_END) - header - footer
            if body < 0 or body % length:
                raise invalid(odd(body))
            file.seek(header)
            for _ in range(body // length):
                yield _exactly(file, length)
            return
        stream = Inflated(file, compression, path)
        _exactly(stream, header)
        ahead, given = _exactly(stream, footer), 0
        while piece := _exactly(stream, length):
            ahead += piece
            if len(piece) < length:
                raise DataLossError.saying(odd(given + len(piece)))
            yield ahead[:length]
            ahead, given = ahead[length:], given + length


# ---------------------------------------------------------------------------------------------------------------------
# Writing


class TFRecordCompressionType:
    """The compressions of TFRecord files, by TensorFlow 1's numbers."""

    NONE, ZLIB, GZIP = 0, 1, 2


@dataclass(eq=False)  # compared by identity, and assignable, as in TensorFlow
class TFRecordOptions:
    """The compression of a TFRecord file: "GZIP", "ZLIB" or "" (none), and zlib's settings.

    `flush_mode` and the sizes of buffers have no effect.

    >>> with tf.io.TFRecordWriter("ram://packed", tf.io.TFRecordOptions("GZIP", compression_level=9)) as writer:
    ...     writer.write(b"first")
    >>> [record.numpy() for record in tf.data.TFRecordDataset("ram://packed", "GZIP")]
    [b'first']
    """

    compression_type_map: ClassVar[dict[int, str]] = {1: "ZLIB", 2: "GZIP", 0: ""}

    compression_type: Any = None
    flush_mode: int | None = None
    input_buffer_size: int | None = None
    output_buffer_size: int | None = None
    window_bits: int | None = None
    compression_level: int | None = None
    compression_method: int | None = None
    mem_level: int | None = None
    compression_strategy: int | None = None

    @public
    def __post_init__(self) -> None:
        self.get_compression_type_string(self.compression_type)

    @classmethod
    @public
    def get_compression_type_string(cls, options: Any) -> str:
        """Return the compression of options, given as such, by name or by TensorFlow 1's number. ValueError for others."""
        if not options:
            return ""
        if isinstance(options, TFRecordOptions):
            return cls.get_compression_type_string(options.compression_type)
        if isinstance(options, int) and options in cls.compression_type_map:
            return cls.compression_type_map[options]
        if options in cls.compression_type_map.values():
            return str(options)
        raise ValueError(f'Not a valid compression_type: "{options}"')

    def _deflater(self) -> Any:
        compression = self.get_compression_type_string(self)
        if not compression:
            return None
        bits = 15 if self.window_bits is None else abs(self.window_bits)
        chosen: Any = [
            (self.compression_level, zlib.Z_DEFAULT_COMPRESSION),
            (self.compression_method, zlib.DEFLATED),
            (bits + (16 if compression == "GZIP" else 0), 0),
            (self.mem_level, 8),
            (self.compression_strategy, zlib.Z_DEFAULT_STRATEGY),
        ]
        try:
            return zlib.compressobj(*[usual if value is None else value for value, usual in chosen])
        except ValueError as error:
            raise invalid(f"{error}: zlib cannot take these TFRecordOptions: {vars(self)}.") from error


class TFRecordWriter:
    """A writer of records to a new TFRecord file. As a context manager it closes the file at the end.

    >>> with tf.io.TFRecordWriter("ram://records") as writer:
    ...     writer.write(b"first")
    >>> [record.numpy() for record in tf.data.TFRecordDataset("ram://records")]
    [b'first']
    """

    @public
    def __init__(self, path: Any, options: Any = None) -> None:
        if not isinstance(options, TFRecordOptions):
            options = TFRecordOptions(compression_type=options)
        self._path, self._deflate = name_of(path), options._deflater()
        masked_checksum(b"")  # fails without the package before anything is written
        self._file: IO[bytes] | None = open_bytes(self._path, "wb")

    def _opened(self) -> IO[bytes]:
        if self._file is None:
            raise FailedPreconditionError.saying("Writer is closed.")
        return self._file

    @public
    def write(self, record: Any) -> None:
        """Write a record: bytes, or text."""
        if not isinstance(record, (bytes, bytearray, memoryview, str)):
            raise TypeError(f"write(): a record is bytes, received {record!r} of type {type(record).__name__}.")
        data = record.encode() if isinstance(record, str) else bytes(record)
        length = LENGTH.pack(len(data))
        whole = b"".join([length, CHECKSUM.pack(masked_checksum(length)), data, CHECKSUM.pack(masked_checksum(data))])
        file = self._opened()
        with told(self._path):
            file.write(whole if self._deflate is None else self._deflate.compress(whole))

    @public
    def flush(self) -> None:
        """Flush buffered bytes to the file."""
        file = self._opened()
        with told(self._path):
            if self._deflate is not None:
                file.write(self._deflate.flush(zlib.Z_SYNC_FLUSH))
            file.flush()

    @public
    def close(self) -> None:
        """Flush buffered bytes, and close the file."""
        if self._file is None:
            return
        file, self._file = self._file, None
        with told(self._path), file:
            if self._deflate is not None:
                file.write(self._deflate.flush())

    def __enter__(self) -> TFRecordWriter:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


@public
def tf_record_iterator(path: Any, options: Any = None) -> Iterator[bytes]:
    """Yield the records of a TFRecord file as bytes. It is TensorFlow 1's; see `tf.data.TFRecordDataset`."""
    return tf_records(name_of(path), TFRecordOptions.get_compression_type_string(options))
