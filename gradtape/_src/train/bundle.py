"""Reading of TensorFlow's checkpoints: an index, which is a table, and files with the bytes of the tensors.

Every part has a checksum. The counterpart is `bundle_writer`.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from jax.sharding import Sharding

from gradtape._src.core.base.errors import DataLossError, UnimplementedError
from gradtape._src.core.values.dtypes import DType, NamedDType, as_dtype, string
from gradtape._src.files.messages import message
from gradtape._src.files.ops import of_bytes
from gradtape._src.files.records import CHECKSUM, masked_checksum
from gradtape._src.files.systems import open_bytes
from gradtape._src.files.table import table
from gradtape._src.files.varint import divided, varints
from gradtape._src.train.storage import ATTRIBUTES, ArrayEntry, CheckpointSource, ObjectNode

SUFFIX = ".index"
GRAPH = "_CHECKPOINTABLE_OBJECT_GRAPH"
VALUE = f"{ATTRIBUTES}VARIABLE_VALUE"  # suffix of the keys of variables
VERSION = 1  # version of the format; files that require a later one are refused
Extents = tuple[tuple[int, int], ...]  # of a part of a tensor: start and length along each axis (length -1: the whole axis)


@dataclass(frozen=True)
class Placed(ArrayEntry):
    """The index entry of a tensor, with the file and offset of its bytes, or its parts."""

    file: int = 0
    offset: int = 0
    size: int = 0
    parts: tuple[Extents, ...] = ()


class Bundle(CheckpointSource):
    """A checkpoint in TensorFlow's format."""

    foreign = True

    def __init__(self, prefix: str) -> None:
        super().__init__(prefix + SUFFIX)
        self._prefix = prefix
        with open_bytes(self.path) as file:
            data = file.read()
        with self._damage():
            stored = dict(table(data))
            header = message("BundleHeaderProto").FromString(stored.pop(b""))
            if header.version.min_consumer > VERSION:
                raise UnimplementedError.saying(
                    f"The checkpoint {self.path} is for readers of version {header.version.min_consumer}; this is {VERSION}."
                )
            if header.endianness:
                raise UnimplementedError.saying(f"The checkpoint {self.path} was written by a big-endian machine.")
            self._files, self.writer = header.num_shards, header.writer
            self._parts = {key: _placed(value, self._files) for key, value in stored.items() if key.startswith(b"\0")}
            placed = {key.decode(): _placed(value, self._files) for key, value in stored.items() if key not in self._parts}
            self.by_name = GRAPH not in placed
            self.nodes = []
            self.entries = self._placed = placed
            if not self.by_name:
                self._graph = bytes(self.arrays([GRAPH])[GRAPH][()])
                del placed[GRAPH]
                self.entries = self._placed = {_short(key, placed): entry for key, entry in placed.items()}
                self.nodes = _nodes(self._graph, placed)

    def graph(self) -> bytes:
        return self._graph

    def arrays(self, keys: list[str], layouts: Mapping[str, Sharding] = {}) -> dict[str, Any]:
        with self._damage():
            return {key: self._array(key, self._placed[key]) for key in keys}

    def _array(self, key: str, entry: Placed) -> np.ndarray:
        if isinstance(entry.dtype, DType):
            raise UnimplementedError.saying(
                f"{key} in the checkpoint {self.path} is {entry.dtype.name}, of which gradtape has no tensors. The state of "
                "an iterator of TensorFlow is such: restore without it."
            )
        if not entry.parts:
            data = self._bytes(key, entry)
            return _strings(data, entry) if entry.dtype.kind == "O" else _numbers(data, entry)
        parts = [self._parts[_part_key(key if self.by_name else key + VALUE, extents)] for extents in entry.parts]
        if sum(math.prod(part.shape) for part in parts) != math.prod(entry.shape):
            raise ValueError(f"the parts of {key} are not all of it")
        whole, filled = np.empty(entry.shape, entry.dtype), np.zeros(entry.shape, bool)
        for extents, part in zip(entry.parts, parts, strict=True):
            place = tuple([slice(begin, None if length < 0 else begin + length) for begin, length in extents])
            if part.parts or part.dtype != entry.dtype or whole[place].shape != part.shape or filled[place].any():
                raise ValueError(f"a part of {key} has another place or dtype than its index says")
            whole[place], filled[place] = self._array(key, part), True
        return whole

    def _bytes(self, key: str, entry: Placed) -> bytes:
        path = f"{self._prefix}.data-{entry.file:05d}-of-{self._files:05d}"
        with open_bytes(path) as file:
            if entry.offset + entry.size > file.seek(0, 2):
                raise DataLossError.saying(f"The file {path} is truncated: it ends before {key} does. Nothing was restored.")
            file.seek(entry.offset)
            data = file.read(entry.size)
        if entry.dtype != string.numpy and masked_checksum(data) != entry.crc32:
            raise ValueError(f"the checksum of {key} is wrong")
        return data


def _placed(data: bytes, files: int) -> Placed:
    """Read an index entry. ValueError if it is invalid, before any memory is allocated for it."""
    entry = message("BundleEntryProto").FromString(data)
    try:
        dtype = as_dtype(int(entry.dtype))
    except TypeError:
        raise ValueError(f"a tensor has the dtype number {entry.dtype}") from None
    shape = tuple([dim.size for dim in entry.shape.dim])
    parts = tuple([tuple([(e.start, e.length or -1) for e in part.extent]) for part in entry.slices])
    named_only = isinstance(dtype, NamedDType)
    place = entry.shard_id, entry.offset, entry.size
    if min(place) < 0 or entry.shard_id >= max(files, 1) or min(shape, default=0) < 0 or entry.shape.unknown_rank:
        raise ValueError(f"a tensor has the shape {list(shape)}, in {place[2]} bytes from {place[1]} on of file {place[0]}")
    count = math.prod(shape)
    if not named_only and not parts and (entry.size < count if dtype == string else entry.size != count * dtype.numpy.itemsize):
        raise ValueError(f"{entry.size} bytes are no {dtype.name}{list(shape)}")
    return Placed(dtype if named_only else dtype.numpy, shape, entry.crc32c, None, *place, parts)


def _numbers(data: bytes, entry: Placed) -> np.ndarray:
    if entry.dtype == np.bool_:
        return (np.frombuffer(data, np.uint8) != 0).reshape(entry.shape)
    return np.frombuffer(data, entry.dtype.newbyteorder("<")).astype(entry.dtype).reshape(entry.shape)


def _strings(data: bytes, entry: Placed) -> np.ndarray:
    """Decode strings, which follow their lengths and a checksum of these."""
    lengths, at = varints(data, math.prod(entry.shape))
    text = data[at + CHECKSUM.size :]
    strings = divided(text, lengths)
    if (data[at : at + CHECKSUM.size], entry.crc32) != checksums(lengths, text):
        raise ValueError("the checksum of strings is wrong")
    return of_bytes(strings, entry.shape)


def checksums(lengths: Sequence[int], text: bytes) -> tuple[bytes, int]:
    """Return the checksum of the lengths of strings, as it is stored, and the checksum of all."""
    summed = b"".join([length.to_bytes(4 if length < 1 << 32 else 8, "little") for length in lengths])
    stored = CHECKSUM.pack(masked_checksum(summed))
    return stored, masked_checksum(summed + stored + text)


def _short(key: str, placed: dict[str, Placed]) -> str:
    short = key.removesuffix(VALUE)
    return key if short in placed else short


def _key_of(given: str, placed: dict[str, Placed]) -> tuple[str | None, tuple[str, ...] | None]:
    """Return the key of a saved object, and the suffixes if the graph has only a prefix of its keys."""
    if given in placed:
        return _short(given, placed), None
    if given.endswith(VALUE):
        raise ValueError(f"it has no tensor {given!r}")
    endings = tuple([key.removeprefix(given) for key in placed if key.startswith(given)])
    return (given, endings) if endings else (None, None)


def _nodes(graph: bytes, placed: dict[str, Placed]) -> list[ObjectNode]:
    """Return the objects of a graph. ValueError for a reference to no object."""
    found = message("TrackableObjectGraph").FromString(graph).nodes
    nodes = []
    for given in found:
        attributes = sorted(given.attributes, key=lambda a: not a.checkpoint_key.endswith(VALUE))
        key, endings = _key_of(attributes[0].checkpoint_key, placed) if attributes else (None, None)
        slots = [(s.slot_name, s.original_variable_node_id, s.slot_variable_node_id) for s in given.slot_variables]
        children = {child.local_name: child.node_id for child in given.children}
        numbers: Sequence[Any] = [*children.values(), *(number for _, *pair in slots for number in pair)]
        if not all(0 <= number < len(found) for number in numbers):
            raise ValueError(f"objects have the numbers {sorted(numbers)} among {len(found)}")
        name = attributes[0].full_name or None if attributes else None
        nodes.append(ObjectNode(children, key, name, tuple(slots) or None, endings))
    if not nodes:
        raise ValueError("it has no objects")
    return nodes


def _part_key(key: str, extents: Extents) -> bytes:
    """Return the key of a part of a tensor: 0, name, rank and extents, encoded so that bytes sort like the values."""
    name = key.encode().replace(b"\0", b"\0\xff")
    rank = bytes([1, len(extents)]) if extents else b"\0"
    return b"\0" + name + b"\0\1" + rank + b"".join([_ordered(number) for extent in extents for number in extent])


def _ordered(number: int) -> bytes:
    """Encode an integer so that bytes sort like numbers: the number of bytes in unary, then 7 bits per byte."""
    count = 1 + ((number if number >= 0 else ~number).bit_length()) // 7
    bits = 8 * count
    heading = (1 << count) - 1 << bits - count  # one bit set for each byte
    return (number & (1 << bits) - 1 ^ heading).to_bytes(count, "big")
